# dues as an image: the built service with its production packages, run by an ordinary user.
#
#   docker build -t dues .
#   docker run --init -p 127.0.0.1:8080:8080 -v dues:/data dues                 its own PostgreSQL
#   docker run --init -p 127.0.0.1:8080:8080 -e DATABASE_URL=postgres://… -e SECRET_KEY=… dues
#
# compose.yaml runs it beside a PostgreSQL. docs/OPERATING.md, "In a container", says more.

# Debian with glibc: the PostgreSQL that dues brings does not run on musl (Alpine).
ARG NODE_IMAGE=node:22.14.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /dues
# First what the packages depend on, so that a change of the code does not install them again.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --omit=dev --include=optional
COPY scripts/bundle/package.json scripts/bundle/package-lock.json scripts/bundle/
RUN cd scripts/bundle && npm ci --ignore-scripts --include=optional
COPY bin bin
COPY scripts scripts
COPY src src
RUN npm run build && rm dist/.dues-build

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="dues" org.opencontainers.image.version="0.1.0"
WORKDIR /dues
COPY --from=build /dues/package.json ./
COPY --from=build /dues/bin bin
COPY --from=build /dues/dist dist
COPY --from=build /dues/node_modules node_modules
# Without src the command does not look for something to build when it starts.
COPY LICENSE CHANGELOG.md service.example.yaml ./
# By number, so that an orchestrator can see that it is not root. Node's images call it "node".
RUN ln -s /dues/bin/dues.js /usr/local/bin/dues && install -d -o 1000 -g 1000 -m 0700 /data
USER 1000:1000
# Reached from outside of the container, so only tokens make tokens after the first one, and metrics
# have a port of their own, which is not to be published.
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8080 \
    HEALTH_PORT=9090 \
    DUES_DATA=/data \
    KEY_CREATION=bootstrap
VOLUME /data
EXPOSE 8080
# Ready, not only alive: who depends on it waits until the database answers and is migrated.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HEALTH_PORT || process.env.PORT}/readyz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["dues"]
CMD ["serve"]
