"""Audit rows are written once: a trigger refuses changes by anyone, owner included."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION audit_entry_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit entries are never changed or deleted' USING ERRCODE = '42501';
END $$;
CREATE TRIGGER audit_entry_append_only BEFORE UPDATE OR DELETE ON audit_entry
    FOR EACH ROW EXECUTE FUNCTION audit_entry_is_append_only();
"""
BACKWARD = """
DROP TRIGGER audit_entry_append_only ON audit_entry;
DROP FUNCTION audit_entry_is_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
