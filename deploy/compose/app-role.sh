#!/bin/sh
# Run once by the postgres image, on an empty volume: the role of web and workers, which owns
# nothing. `migrate` gives it its rights.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$APP_ROLE_PASSWORD" \
    --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
CREATE ROLE claimyard_app LOGIN PASSWORD :'password';
SQL
