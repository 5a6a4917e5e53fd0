# The gateway as an image: unprivileged, works with a read-only file system.
# It writes only to /srv/state (sockets, and the database if no other one is configured).
# No container engine runs in this project's checks: tests/contract/test_container_files.py reads
# this file and docker-compose.yml and runs their scripts, but no image has been built there.

FROM python:3.11-slim-bookworm AS packages
WORKDIR /build
COPY requirements.lock ./
RUN python -m venv /opt/realmgate \
    && /opt/realmgate/bin/pip install --no-cache-dir --require-hashes --only-binary :all: \
        --requirement requirements.lock

FROM python:3.11-slim-bookworm
# One account for gateway and proxy, so that the proxy can read the configuration that is private.
# A new volume takes owner and mode of the folder at which it is mounted.
RUN groupadd --gid 10001 realmgate \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /srv/state \
        --shell /usr/sbin/nologin realmgate \
    && install --directory --owner=10001 --group=10001 --mode=0700 /srv/state /srv/pki \
    && install --directory --owner=10001 --group=10001 --mode=0755 /srv/certs /srv/secrets/gateway \
        /srv/secrets/proxy /srv/secrets/redis /srv/secrets/postgres
COPY --from=packages /opt/realmgate /opt/realmgate
WORKDIR /srv/realmgate
COPY LICENSE README.md ./
COPY nginx ./nginx
COPY gateway ./gateway
# Compiled here because the file system is read-only later: a cold start is three times as fast.
RUN /opt/realmgate/bin/python -m compileall -q gateway
ENV PATH=/opt/realmgate/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    REALMGATE_STATE_DIR=/srv/state
USER 10001:10001
VOLUME /srv/state
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9000/health/ready', timeout=2)"]
ENTRYPOINT ["python", "-m", "gateway"]
CMD ["start"]
