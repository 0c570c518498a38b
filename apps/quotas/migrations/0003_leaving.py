from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("quotas", "0002_applied_hash")]

    operations = [
        migrations.AddField(
            "tenantnamespace",
            "leaving_at",
            models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
