"""pg_trgm lets an index answer a search for a part of a word. Any owner of the database may add it."""

from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("common", "0002_initial")]
    operations = [TrigramExtension()]
