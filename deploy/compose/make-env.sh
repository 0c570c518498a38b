#!/bin/sh
# Writes the environment files that docker-compose.yml reads, with new random secrets, next to
# this script. Keeps files that exist: a lost credential key makes stored tokens unreadable.
set -eu
cd "$(dirname "$0")"
umask 077

if [ -e portal.env ] || [ -e owner.env ] || [ -e postgres.env ]; then
    echo "the files are there already; delete them yourself to start with new secrets" >&2
    exit 1
fi

random() { # bytes, as letters and digits that need no quoting in a URL
    od -An -v -tx1 -N "$1" /dev/urandom | tr -d ' \n'
}
fernet_key() { # 32 bytes, URL-safe base64
    head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '\n'
}

app_password=$(random 24)
owner_password=$(random 24)

cat >postgres.env <<END
POSTGRES_DB=claimyard
POSTGRES_USER=claimyard_owner
POSTGRES_PASSWORD=$owner_password
APP_ROLE_PASSWORD=$app_password
END
cat >owner.env <<END
CLAIMYARD_DATABASE_URL=postgresql://claimyard_owner:$owner_password@postgres:5432/claimyard
CLAIMYARD_APP_ROLE=claimyard_app
END
cat >portal.env <<END
CLAIMYARD_SECRET_KEY=$(random 32)
CLAIMYARD_CREDENTIAL_KEYS=$(fernet_key)
CLAIMYARD_DATABASE_URL=postgresql://claimyard_app:$app_password@postgres:5432/claimyard
CLAIMYARD_REDIS_URL=redis://valkey:6379/0
CLAIMYARD_PUBLIC_URL=http://localhost:8000
CLAIMYARD_ALLOWED_HOSTS=localhost,127.0.0.1
END
echo "written: postgres.env owner.env portal.env; keep a copy of portal.env with your backups"
