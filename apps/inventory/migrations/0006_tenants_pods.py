from django.db import migrations, models


class Migration(migrations.Migration):
    """A server may be any host that a kubeconfig carries. Pods are kept with their containers'
    states where they are a tenant's: rows without them are written again by the next list."""

    dependencies = [("inventory", "0005_slice_pool_index")]

    operations = [
        migrations.AlterField("cluster", "server", models.CharField(max_length=500)),
        migrations.AddField(
            "watchlease", "counted_by", models.CharField(blank=True, max_length=64)
        ),
        migrations.RunSQL(
            "UPDATE inventory_mirrored SET resource_version = '' WHERE kind = 'pods'",
            migrations.RunSQL.noop,
        ),
    ]
