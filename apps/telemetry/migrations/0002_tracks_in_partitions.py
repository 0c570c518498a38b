"""Readings in hourly partitions: tracks, raw readings, hours of minutes, and where they come from.

The app's role owns no table and may create none, so partitions come and go by one function that
runs with its owner's rights. Partitions are attached, not created in place: that locks no reader.
"""

import django.db.models.deletion
from django.db import migrations, models

TABLES = """
CREATE TABLE telemetry_raw (
    track_id bigint NOT NULL,
    at timestamptz NOT NULL,
    packed bytea NOT NULL,
    PRIMARY KEY (track_id, at)
) PARTITION BY RANGE (at);
ALTER TABLE telemetry_raw ALTER COLUMN packed SET STORAGE EXTERNAL;
CREATE TABLE telemetry_block (
    track_id bigint NOT NULL,
    family varchar(40) NOT NULL,
    start timestamptz NOT NULL,
    columns text NOT NULL,
    packed bytea NOT NULL,
    PRIMARY KEY (track_id, family, start)
) PARTITION BY RANGE (start);
ALTER TABLE telemetry_block ALTER COLUMN packed SET STORAGE EXTERNAL;

CREATE FUNCTION telemetry_make_partitions(first timestamptz, last timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    parent text; part text; hour timestamptz; made integer := 0;
BEGIN
    FOREACH parent IN ARRAY ARRAY['telemetry_raw', 'telemetry_block'] LOOP
        hour := date_trunc('hour', first, 'UTC');
        WHILE hour <= last LOOP
            part := parent || to_char(hour AT TIME ZONE 'UTC', '"_"YYYYMMDDHH24');
            IF to_regclass(part) IS NULL THEN
                PERFORM pg_advisory_xact_lock(hashtext('telemetry_partitions'));
            END IF;
            IF to_regclass(part) IS NULL THEN
                EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING STORAGE INCLUDING INDEXES)',
                               part, parent);
                EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                               parent, part, hour, hour + interval '1 hour');
                made := made + 1;
            END IF;
            hour := hour + interval '1 hour';
        END LOOP;
    END LOOP;
    RETURN made;
END $$;

CREATE FUNCTION telemetry_drop_partitions(parent text, before timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    part text; dropped integer := 0;
BEGIN
    IF parent NOT IN ('telemetry_raw', 'telemetry_block') THEN
        RAISE EXCEPTION 'no table of readings: %', parent;
    END IF;
    FOR part IN
        SELECT child.relname FROM pg_inherits
        JOIN pg_class child ON child.oid = inhrelid
        WHERE inhparent = parent::regclass
          AND to_timestamp(right(child.relname, 10), 'YYYYMMDDHH24') AT TIME ZONE 'UTC'
              + interval '1 hour' <= before AT TIME ZONE 'UTC'
    LOOP
        EXECUTE format('DROP TABLE %I', part);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;
"""
NO_TABLES = """
DROP FUNCTION telemetry_drop_partitions(text, timestamptz);
DROP FUNCTION telemetry_make_partitions(timestamptz, timestamptz);
DROP TABLE telemetry_block;
DROP TABLE telemetry_raw;
"""


class Migration(migrations.Migration):
    dependencies = [("telemetry", "0001_initial"), ("inventory", "0001_initial")]

    operations = [
        migrations.DeleteModel("Chunk"),
        migrations.DeleteModel("Source"),
        migrations.CreateModel(
            name="Track",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("server", "Server"), ("pool", "Pool"), ("class", "Class"), ("cluster", "Cluster")], default="server", max_length=10)),
                ("key", models.CharField(max_length=260)),
                ("namespace", models.CharField(blank=True, max_length=63)),
                ("pod", models.CharField(blank=True, max_length=253)),
                ("node_name", models.CharField(blank=True, max_length=253)),
                ("tenant", models.CharField(blank=True, max_length=63)),
                ("deployment", models.CharField(blank=True, max_length=63)),
                ("pool", models.CharField(blank=True, max_length=63)),
                ("model", models.CharField(blank=True, max_length=300)),
                ("first_at", models.DateTimeField()),
                ("tried_at", models.DateTimeField(blank=True, null=True)),
                ("read_at", models.DateTimeField(blank=True, null=True)),
                ("problem", models.CharField(blank=True, max_length=300)),
                ("refused", models.BooleanField(default=False)),
                ("aliases", models.JSONField(blank=True, default=dict)),
                ("cluster", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="inventory.cluster")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["tenant", "deployment", "tried_at"], name="telemetry_deployment"),
                    models.Index(fields=["tried_at"], name="telemetry_tried"),
                ],
                "constraints": [models.UniqueConstraint(fields=("cluster", "kind", "key"), name="telemetry_track_once")],
            },
        ),
        migrations.CreateModel(
            name="Progress",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("until", models.DateTimeField()),
                ("cluster", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="inventory.cluster")),
            ],
        ),
        migrations.CreateModel(
            name="MetricsSource",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("kind", models.CharField(choices=[("pods", "The model servers' own pages, kept for a day"), ("prometheus", "Prometheus, by its URL"), ("service", "Prometheus, through the API server's service proxy"), ("off", "Not at all")], default="pods", max_length=12)),
                ("url", models.URLField(blank=True, max_length=300)),
                ("service_namespace", models.CharField(blank=True, max_length=63)),
                ("service_name", models.CharField(blank=True, max_length=63)),
                ("service_port", models.CharField(blank=True, max_length=15)),
                ("service_tls", models.BooleanField(default=False)),
                ("service_path", models.CharField(blank=True, max_length=200)),
                ("token", models.BinaryField(blank=True, default=b"")),
                ("ca", models.TextField(blank=True)),
                ("tenant_header", models.CharField(blank=True, max_length=60)),
                ("tenant_value", models.CharField(blank=True, max_length=200)),
                ("checked_at", models.DateTimeField(blank=True, null=True)),
                ("version", models.CharField(blank=True, max_length=60)),
                ("problem", models.CharField(blank=True, max_length=500)),
                ("cluster", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name="metrics_source", to="inventory.cluster")),
            ],
            options={"abstract": False},
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(TABLES, NO_TABLES)],
            state_operations=[
                migrations.CreateModel(
                    name="Raw",
                    fields=[
                        ("pk", models.CompositePrimaryKey("track_id", "at", blank=True, editable=False, primary_key=True, serialize=False)),
                        ("track", models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name="+", to="telemetry.track")),
                        ("at", models.DateTimeField()),
                        ("packed", models.BinaryField()),
                    ],
                ),
                migrations.CreateModel(
                    name="Block",
                    fields=[
                        ("pk", models.CompositePrimaryKey("track_id", "family", "start", blank=True, editable=False, primary_key=True, serialize=False)),
                        ("track", models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name="+", to="telemetry.track")),
                        ("family", models.CharField(max_length=40)),
                        ("start", models.DateTimeField()),
                        ("columns", models.TextField()),
                        ("packed", models.BinaryField()),
                    ],
                ),
            ],
        ),
    ]
