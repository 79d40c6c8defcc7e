// The Dockerfile, and the chart of Helm in deploy/helm, rendered by helm. The schemas of Kubernetes refuse fields that do not exist, so that a misspelled one is seen.
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parse, parseAllDocuments } from "yaml"
import * as Settings from "../../src/process/settings/Settings.ts"

const root = path.resolve(import.meta.dirname, "../..")
const chart = path.join(root, "deploy/helm")
const tools = path.join(root, "tools/installs")
const read = (file: string) => fs.readFileSync(path.join(root, file), "utf8")

/** The earliest version of Kubernetes that the chart takes (`kubeVersion`), and the newest one whose schemas are installed. */
const versions = ["1.30", "1.37"]

const valuesFiles = fs.readdirSync(chart).filter((name) => /^values\.\w+\.yaml$/.test(name))

const called = (command: string, args: ReadonlyArray<string>, input?: string) => {
  const { error, status, stderr, stdout } = spawnSync(command, args, { encoding: "utf8", input })
  if (error !== undefined) throw error
  return { status, stdout, stderr }
}

const helm = process.env.TEST_HELM ?? "helm"

/** What `helm template` makes of these values. */
const rendered = (...args: ReadonlyArray<string>) =>
  // A helm that Go has built from its module assumes Kubernetes 1.20.
  called(helm, ["template", "relayer", chart, "--kube-version", versions[0] ?? "", ...args])

/** What `JSON.parse` makes of a resource. */
type Resource = ReturnType<typeof JSON.parse>

const resources = (file: string, ...args: ReadonlyArray<string>): ReadonlyArray<Resource> => {
  const { status, stderr, stdout } = rendered("--values", path.join(chart, file), ...args)
  assert.strictEqual(status, 0, stderr)
  return parseAllDocuments(stdout)
    .map((document) => document.toJS())
    .filter((resource) => resource !== null)
}

const one = (all: ReadonlyArray<Resource>, kind: string): Resource => {
  const [found, ...others] = all.filter((resource) => resource.kind === kind)
  assert.isDefined(found, `${kind} of ${all.map((resource) => resource.kind).join(", ")}`)
  assert.isEmpty(others)
  return found
}

/** A program of tools/installs/requirements.txt. */
const program = (name: string) => path.join(tools, ".venv/bin", name)

/** What the schemas of a version say about resources. */
const validated = (all: ReadonlyArray<object>, version: string) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "helm-"))
  const files = all.map((resource, index) => {
    const file = path.join(folder, `${index}.json`)
    fs.writeFileSync(file, JSON.stringify(resource))
    return file
  })
  const answer = called(program("kubernetes-validate"), ["--strict", "-k", version, ...files])
  fs.rmSync(folder, { recursive: true })
  return answer
}

beforeAll(() => {
  const venv = called("python3", ["-m", "venv", path.join(tools, ".venv")])
  assert.strictEqual(venv.status, 0, venv.stderr)
  const requirements = path.join(tools, "requirements.txt")
  const options = ["install", "--quiet", "--disable-pip-version-check", "-r", requirements]
  const pip = called(program("pip"), options)
  assert.strictEqual(pip.status, 0, pip.stderr)
})

describe("the chart", () => {
  it("is found right by helm lint", () => {
    for (const file of valuesFiles) {
      const { status, stdout } = called(helm, ["lint", "--strict", chart, "--values", path.join(chart, file)])
      assert.strictEqual(status, 0, stdout)
    }
  })

  it("has values for one instance, for several, and for secrets of a store", () => {
    assert.sameMembers(valuesFiles, ["values.single.yaml", "values.several.yaml", "values.store.yaml"])
  })

  for (const version of versions) {
    it(`renders resources that Kubernetes ${version} takes, with each file of values`, () => {
      for (const file of valuesFiles) {
        const own = resources(file).filter(({ kind }) => kind !== "ExternalSecret")
        const { status, stderr, stdout } = validated(own, version)
        assert.strictEqual(status, 0, `${file}: ${stdout}${stderr}`)
      }
    })
  }

  it("is checked by schemas that refuse a field that does not exist, and a value of another type", () => {
    const workload = one(resources("values.several.yaml"), "Deployment")
    const misspelled = { ...workload, spec: { ...workload.spec, replicaz: 2 } }
    assert.notStrictEqual(validated([misspelled], "1.37").status, 0)
    const text = { ...workload, spec: { ...workload.spec, replicas: "two" } }
    assert.notStrictEqual(validated([text], "1.37").status, 0)
  })

  it("runs several instances as deploy/kubernetes.yaml does", () => {
    const all = resources("values.several.yaml")
    const written = parseAllDocuments(read("deploy/kubernetes.yaml")).map((document) => document.toJS() as Resource)
    const plain = (value: unknown): string =>
      JSON.stringify(value, (key, inner) => {
        if (key === "matchLabels" && Object.keys(inner).every((label) => !label.startsWith("kubernetes.io/"))) return {}
        if (key === "labels" || (key === "selector" && inner.matchLabels === undefined)) return {}
        if (key === "env")
          return [...inner].toSorted((a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1))
        if (inner === null || typeof inner !== "object" || Array.isArray(inner)) return inner
        return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      })
    for (const kind of ["Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"]) {
      assert.strictEqual(plain(one(all, kind).spec), plain(one(written, kind).spec), kind)
    }
  })

  it("runs one instance on its volume, whatever the number of replicas", () => {
    const all = resources("values.single.yaml", "--set", "replicas=5")
    const { spec } = one(all, "StatefulSet")
    assert.strictEqual(spec.replicas, 1)
    assert.strictEqual(spec.volumeClaimTemplates[0].metadata.name, "data")
    const [container] = spec.template.spec.containers
    assert.deepInclude(container.volumeMounts, { name: "data", mountPath: "/data" })
    assert.deepInclude(container.env, { name: "DATA_DIR", value: "/data" })
    assert.isUndefined(container.envFrom)
    assert.notInclude(
      all.map(({ kind }) => kind),
      "PodDisruptionBudget"
    )
  })

  it("takes the variables from the secret that a secret store fills", () => {
    const all = resources("values.store.yaml")
    const secret = one(all, "ExternalSecret")
    const [container] = one(all, "Deployment").spec.template.spec.containers
    assert.deepStrictEqual(container.envFrom, [{ secretRef: { name: secret.spec.target.name } }])
    assert.strictEqual(secret.spec.dataFrom[0].extract.key, "payments/effect-relayer")
    assert.deepInclude(container.env, { name: "REDIS_URL", value: "redis://redis.databases:6379" })
  })

  it("sets only variables that exist, and runs the image of its version", () => {
    const names = new Set<string>(Settings.described.map(({ name }) => name))
    const { version } = JSON.parse(read("package.json")) as { readonly version: string }
    for (const file of valuesFiles) {
      const workload = resources(file).find(({ kind }) => kind === "Deployment" || kind === "StatefulSet")
      const [container] = workload?.spec.template.spec.containers ?? []
      for (const { name } of container.env) assert.isTrue(names.has(name), name)
      assert.strictEqual(container.image, `registry.example.com/effect-relayer:${version}`)
    }
    const digest = `sha256:${"0".repeat(64)}`
    const pinned = one(resources("values.several.yaml", "--set", `image.digest=${digest}`), "Deployment")
    assert.match(pinned.spec.template.spec.containers[0].image, new RegExp(`:${version}@${digest}$`))
  })

  it("lets nobody connect if no namespace may", () => {
    const { spec } = one(resources("values.several.yaml", "--set", "networkPolicy.from=null"), "NetworkPolicy")
    assert.deepStrictEqual(spec.policyTypes, ["Ingress", "Egress"])
    assert.isUndefined(spec.ingress)
  })
})

describe("values that cannot work", () => {
  const image = ["--set", "image.repository=example.com/relayer"]
  const refusals: ReadonlyArray<readonly [what: string, args: ReadonlyArray<string>, text: RegExp]> = [
    ["an image without a name", ["--set", "secret.name=s"], /repository/],
    ["an external database without a secret", image, /secret\.name: with `database: external`/],
    ["an ingress without a host", [...image, "--set", "secret.name=s,ingress.enabled=true"], /ingress\.host/],
    [
      "a secret store without a name",
      [...image, "--set", "secret.external.enabled=true"],
      /secret\.external\.store\.name/
    ],
    ["a misspelled value", [...image, "--set", "secret.name=s,replica=3"], /replica/],
    ["a digest that is none", [...image, "--set", "secret.name=s,image.digest=latest"], /digest/],
    ["no instances", [...image, "--set", "secret.name=s,replicas=0"], /replicas/]
  ]
  for (const [what, args, text] of refusals) {
    it(`are refused: ${what}`, () => {
      const { status, stderr } = rendered(...args)
      assert.notStrictEqual(status, 0)
      assert.match(stderr, text)
    })
  }
})

describe("the version of the chart", () => {
  it("is that of the package", () => {
    const { version } = JSON.parse(read("package.json")) as { readonly version: string }
    assert.include(parse(read("deploy/helm/Chart.yaml")), { version, appVersion: version })
  })
})

describe("the Dockerfile", () => {
  it("has nothing that hadolint finds fault with", () => {
    const { status, stdout } = called(program("hadolint"), [path.join(root, "deploy/Dockerfile")])
    assert.strictEqual(status, 0, stdout)
  })
})
