// The files of deploy/ agree with the service.
import { assert, describe, it } from "@effect/vitest"
import { HttpApi } from "effect/http-api"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parse, parseAllDocuments } from "yaml"
import { Api } from "../../src/api/Api.ts"
import { isIncompatible } from "../../src/sql/migrations/index.ts"
import * as Settings from "../../src/process/settings/Settings.ts"

const root = path.resolve(import.meta.dirname, "../..")
const read = (file: string) => fs.readFileSync(path.join(root, file), "utf8")
const packageJson = JSON.parse(read("package.json"))

const dockerfile = read("deploy/Dockerfile")
/** The instructions of the image itself, after the last `FROM`. */
const image = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "))
const baked = Object.fromEntries([...image.matchAll(/^ENV (\w+)=(.+)$/gm)].map(([, name = "", value]) => [name, value]))

const [deployment, service, budget, network] = parseAllDocuments(read("deploy/kubernetes.yaml")).map((each) =>
  each.toJS()
)
const monitor = parse(read("deploy/monitoring/service-monitor.yaml"))
const pod = deployment.spec.template.spec
const [container] = pod.containers
const compose = ["deploy/compose.yaml", "deploy/compose.embedded.yaml"].map((file) => parse(read(file)))

const settings = new Set<string>(Settings.described.map(({ name }) => name))
const beyondDrain = 8

const getPaths = new Set<string>()
HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint }) => void (endpoint.method === "GET" && getPaths.add(endpoint.path))
})

describe("the image", () => {
  it("runs the command of the package, without root rights, on a Node that the package supports", () => {
    assert.include(image, `ENTRYPOINT ["node", "${packageJson.bin["effect-relayer"].replace("./", "")}"]`)
    assert.match(image, /^USER 1000:1000$/m)
    const [, least = ""] = /^>=(\d+)/.exec(packageJson.engines.node) ?? []
    const majors = [...dockerfile.matchAll(/^FROM node:(\d+)\./gm)]
    assert.isNotEmpty(majors)
    for (const [, major] of majors) assert.isAtLeast(Number(major), Number(least))
    const { NODE_ENV, ...rest } = baked
    assert.strictEqual(NODE_ENV, "production")
    for (const name of Object.keys(rest)) assert.isTrue(settings.has(name), name)
    assert.strictEqual(baked.HOST, "0.0.0.0")
    assert.match(image, new RegExp(`^EXPOSE ${baked.PORT}$`, "m"))
    assert.match(image, new RegExp(`^VOLUME ${baked.DATA_DIR}$`, "m"))
  })

  it("checks the health endpoint of the contract", () => {
    const [, checked = ""] = /127\.0\.0\.1:\$\{process\.env\.PORT\}([^`]+)`/.exec(image) ?? []
    assert.isTrue(getPaths.has(checked), checked)
  })
})

describe("the Kubernetes manifest", () => {
  const environment = Object.fromEntries(
    container.env.map(({ name, value }: { name: string; value: string }) => [name, value])
  )

  it("runs both versions together only if the release changes the schema compatibly", () => {
    /** The schema of 0.1.0, the newest release. A release sets it to its own. */
    const released = 7
    assert.strictEqual(
      deployment.spec.strategy.type ?? "RollingUpdate",
      isIncompatible(released) ? "Recreate" : "RollingUpdate"
    )
  })

  it("sets only variables that exist, and opens the port that it forwards to", () => {
    for (const name of Object.keys(environment)) assert.isTrue(settings.has(name), name)
    assert.strictEqual(environment.HOST, "0.0.0.0")
    assert.deepStrictEqual(container.ports, [{ name: "http", containerPort: Number(environment.PORT) }])
    assert.strictEqual(service.spec.ports[0].targetPort, "http")
    const secrets = [...read("deploy/kubernetes.yaml").matchAll(/--from-literal=(\w+)=/g)].map(([, name]) => name)
    assert.deepStrictEqual(secrets, ["API_KEY", "STORAGE_ENCRYPTION_KEY", "DATABASE_URL"])
    for (const name of secrets) assert.isTrue(settings.has(name ?? ""), name)
    assert.strictEqual(container.envFrom[0].secretRef.name, "effect-relayer")
  })

  it("probes endpoints of the contract", () => {
    assert.strictEqual(container.livenessProbe.httpGet.path, "/v1/health")
    assert.strictEqual(container.readinessProbe.httpGet.path, "/api/v1/ready")
    for (const { httpGet } of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
      assert.isTrue(getPaths.has(httpGet.path), httpGet.path)
      assert.strictEqual(httpGet.port, "http")
    }
  })

  it("waits longer for the end of the service than the service can take", () => {
    const takes = Number(environment.SHUTDOWN_GRACE_MS) / 1000 + container.lifecycle.preStop.sleep.seconds + beyondDrain
    assert.isAbove(pod.terminationGracePeriodSeconds, takes)
  })

  it("says which destinations Vault, RPC nodes and logins of key services need beside port 443", () => {
    const said = read("deploy/kubernetes.yaml").replace(/\n\s*# /g, " ")
    for (const destination of ["Vault usually TCP 8200", "RPC nodes of yours usually TCP 8545", "169.254.169.254"]) {
      assert.include(said, destination)
    }
  })

  it("gives no unnecessary rights, and selects its own pods", () => {
    assert.isTrue(pod.securityContext.runAsNonRoot)
    assert.strictEqual(pod.securityContext.seccompProfile.type, "RuntimeDefault")
    assert.isFalse(pod.automountServiceAccountToken)
    assert.deepStrictEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] }
    })
    const { labels } = deployment.spec.template.metadata
    assert.deepStrictEqual(deployment.spec.selector.matchLabels, labels)
    assert.deepStrictEqual(service.spec.selector, labels)
    assert.deepStrictEqual(budget.spec.selector.matchLabels, labels)
    assert.isBelow(budget.spec.minAvailable, deployment.spec.replicas)
    assert.deepStrictEqual(network.spec.podSelector.matchLabels, labels)
    assert.deepStrictEqual(network.spec.policyTypes, ["Ingress", "Egress"])
  })

  it("pins the image to the version of the package, as npm version does", () => {
    assert.strictEqual(container.image, `registry.example.com/effect-relayer:${packageJson.version}`)
    assert.strictEqual(container.imagePullPolicy, "IfNotPresent")
    assert.include(packageJson.scripts.version, "scripts/version.ts")
  })

  it("has a monitor that scrapes the service", () => {
    assert.deepStrictEqual(monitor.spec.selector.matchLabels, service.metadata.labels)
    const [endpoint] = monitor.spec.endpoints
    assert.strictEqual(endpoint.port, service.spec.ports[0].name)
    assert.isTrue(getPaths.has(endpoint.path), endpoint.path)
  })
})

describe("the compose files", () => {
  it("set only variables that exist, publish the port of the image, and wait for the service to stop", () => {
    for (const { services } of compose) {
      const { environment, ports, read_only, stop_grace_period } = services.relayer
      for (const name of Object.keys(environment)) assert.isTrue(settings.has(name), name)
      assert.deepStrictEqual(ports, [`127.0.0.1:8080:${baked.PORT}`])
      assert.isTrue(read_only)
      assert.isAbove(Number.parseInt(stop_grace_period, 10), Number(environment.SHUTDOWN_GRACE_MS) / 1000 + beyondDrain)
    }
  })

  it("read their keys from a file that the command in the comment writes once", () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "compose-"))
    const [, command = ""] = /:\n#   (\(set -C; [\s\S]*?> \.env\))\n/.exec(read("deploy/compose.yaml")) ?? []
    const run = () => spawnSync("sh", ["-c", command.replaceAll("\n#  ", "\n")], { cwd: folder }).status
    const written = () => fs.readFileSync(path.join(folder, ".env"), "utf8")
    assert.strictEqual(run(), 0)
    const first = written()
    assert.match(first, /^API_KEY=[0-9a-f]{64}\nSTORAGE_ENCRYPTION_KEY=\S{44}\nPOSTGRES_PASSWORD=[0-9a-f]{32}\n$/)
    assert.notStrictEqual(run(), 0)
    assert.strictEqual(written(), first)
    fs.rmSync(folder, { recursive: true })
  })

  it("keep the data of the embedded PostgreSQL, or name the external one correctly", () => {
    const [beside, embedded] = compose
    assert.deepStrictEqual(embedded.services.relayer.volumes, [`data:${baked.DATA_DIR}`])
    assert.isUndefined(embedded.services.relayer.environment.DATABASE_URL)
    const { environment, image } = beside.services.postgres
    assert.isAtLeast(Number(/^postgres:(\d+)/.exec(image)?.[1]), 15)
    const url = beside.services.relayer.environment.DATABASE_URL.replace("${POSTGRES_PASSWORD:?is not set}", "password")
    const { hostname, pathname, username } = new URL(url)
    assert.deepStrictEqual([hostname, pathname, username], ["postgres", "/relayer", environment.POSTGRES_USER])
    assert.strictEqual(environment.POSTGRES_DB, "relayer")
  })
})

describe("the systemd unit", () => {
  const unit = read("deploy/effect-relayer.service")
  const environment = Object.fromEntries(
    [...unit.matchAll(/^Environment=(\w+)=(.+)$/gm)].map(([, name = "", value]) => [name, value])
  )

  it("sets only variables that exist, keeps the data of its user, and waits for the service to stop", () => {
    const { NODE_ENV, ...rest } = environment
    assert.strictEqual(NODE_ENV, "production")
    for (const name of Object.keys(rest)) assert.isTrue(settings.has(name), name)
    const [, folder] = /^StateDirectory=(.+)$/m.exec(unit) ?? []
    assert.strictEqual(environment.DATA_DIR, `/var/lib/${folder}`)
    const stop = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])
    assert.isAbove(stop, Number(environment.SHUTDOWN_GRACE_MS) / 1000 + beyondDrain)
    assert.match(unit, /^ExecStart=\/usr\/bin\/env effect-relayer serve$/m)
    assert.include(unit, `effect-relayer-${packageJson.version}.tgz`)
  })
})

describe("the proxies", () => {
  const defaults = new Map<string, string | undefined>(Settings.described.map((each) => [each.name, each.default]))
  const caddy = read("deploy/Caddyfile")
  const nginx = read("deploy/nginx.conf")

  it("forward to the address that the service listens on by default, and wait longer than the service", () => {
    const address = `${defaults.get("HOST")}:${defaults.get("PORT")}`
    assert.include(caddy, `reverse_proxy ${address}`)
    assert.include(nginx, `server ${address};`)
    const timeout = Number(defaults.get("REQUEST_TIMEOUT_MS")) / 1000
    for (const text of [/response_header_timeout (\d+)s/.exec(caddy), /proxy_read_timeout (\d+)s/.exec(nginx)]) {
      assert.isAbove(Number(text?.[1]), timeout)
    }
    assert.strictEqual(defaults.get("MAX_BODY_BYTES"), String(2 ** 20))
    assert.include(nginx, "client_max_body_size 1m;")
  })

  it("send the address of the client, and keep metrics inside", () => {
    assert.include(nginx, "proxy_set_header X-Forwarded-For $remote_addr;")
    assert.match(caddy, /@inside path \/metrics/)
    assert.match(nginx, /location ~ \^\/\(metrics\|debug\)/)
    assert.include(nginx, "proxy_buffering off;")
    assert.include(caddy, "flush_interval -1")
    assert.isTrue(getPaths.has(/health_uri (\S+)/.exec(caddy)?.[1] ?? ""))
  })
})
