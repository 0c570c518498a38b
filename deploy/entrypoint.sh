#!/bin/sh
# Starts one process of the portal:
#   web, worker, beat, watch, placement    until they are ended
#   migrate                                as the tables' owner; then gives the app's role its rights
#   await-migrations                       until another container has migrated
#   collect-static                         while an image is built
#   manage ...                             any command of manage.py
set -eu
cd "$(dirname "$0")/.."
if [ -d .venv ]; then PATH="$PWD/.venv/bin:$PATH"; fi
export CLAIMYARD_STATIC_ROOT="${CLAIMYARD_STATIC_ROOT:-$PWD/staticfiles}"

process=${1:-web}
[ $# -eq 0 ] || shift

case $process in
web)
    # Threads wait for the database; processes use the cores. The heartbeat file must not be on
    # a disk that may block.
    exec gunicorn portal.wsgi \
        --bind "${CLAIMYARD_LISTEN:-0.0.0.0:8000}" \
        --workers "${CLAIMYARD_WEB_PROCESSES:-2}" \
        --worker-class gthread --threads "${CLAIMYARD_WEB_THREADS:-8}" \
        --worker-tmp-dir /dev/shm --no-control-socket \
        --max-requests 20000 --max-requests-jitter 2000 \
        --graceful-timeout 25 --log-level warning "$@"
    ;;
worker)
    exec celery -A portal --quiet worker --loglevel INFO \
        --concurrency "${CLAIMYARD_WORKER_PROCESSES:-4}" --without-mingle --without-gossip "$@"
    ;;
beat)
    exec celery -A portal --quiet beat --loglevel INFO --pidfile= "$@"
    ;;
watch)
    exec python -m workers.watch "$@"
    ;;
placement)
    exec python -m workers.placement "$@"
    ;;
migrate)
    python manage.py migrate --no-input
    if [ -n "${CLAIMYARD_APP_ROLE:-}" ]; then
        exec python manage.py grant_app_role "$CLAIMYARD_APP_ROLE"
    fi
    ;;
await-migrations)
    for _ in $(seq 150); do
        if python manage.py migrate --check >/dev/null 2>&1; then exit 0; fi
        sleep 2
    done
    echo "the database is not migrated after five minutes: is the migrate job running?" >&2
    exit 1
    ;;
collect-static)
    # Settings insist on their secrets; collecting files uses none of them.
    CLAIMYARD_SECRET_KEY=unused-while-collecting-static-files-0123456789 \
        CLAIMYARD_CREDENTIAL_KEYS=c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ= \
        CLAIMYARD_DATABASE_URL=postgresql://none@127.0.0.1/none \
        CLAIMYARD_REDIS_URL=redis://127.0.0.1/0 \
        exec python manage.py collectstatic --no-input "$@"
    ;;
manage)
    exec python manage.py "$@"
    ;;
*)
    echo "no process is called $process; see deploy/entrypoint.sh" >&2
    exit 2
    ;;
esac
