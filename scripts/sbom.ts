// Writes sbom.json: the packages that users install, in CycloneDX format. It fails if a package is missing or has no hash or
// no licence.
import * as fs from "node:fs"
import * as Lock from "./Lock.ts"

interface Component {
  readonly "bom-ref": string
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly hashes?: ReadonlyArray<unknown>
  readonly licenses?: ReadonlyArray<unknown>
}

interface Bom {
  readonly bomFormat: string
  readonly specVersion: string
  readonly metadata: { readonly component: Component }
  readonly components: ReadonlyArray<Component>
  readonly dependencies: ReadonlyArray<{ readonly ref: string; readonly dependsOn: ReadonlyArray<string> }>
}

const all = Lock.npm("sbom", "--sbom-format=cyclonedx", "--package-lock-only") as Bom
if (all.bomFormat !== "CycloneDX") throw new Error("npm sbom printed no CycloneDX document")

const refOf = (place: string) => `${Lock.nameOf(place)}@${Lock.packages.get(place)?.version}`
const kept = new Set([...Lock.production].map(refOf))
const { component } = all.metadata
const known = new Set([...kept, component["bom-ref"]])

const bom: Bom = {
  ...all,
  // npm uses the name of the folder.
  metadata: { ...all.metadata, component: { ...component, name: "effect-relayer" } },
  components: all.components.filter((each) => kept.has(each["bom-ref"])),
  dependencies: all.dependencies
    .filter(({ ref }) => known.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => known.has(other)) }))
}

const listed = new Set(bom.components.map((each) => each["bom-ref"]))
const isComplete = ({ hashes = [], licenses = [], purl }: Component) =>
  purl.startsWith("pkg:npm/") && hashes.length > 0 && licenses.length > 0
const wrong = [
  ...[...kept].filter((ref) => !listed.has(ref)).map((ref) => `${ref} is missing`),
  ...bom.components.filter((each) => !isComplete(each)).map((each) => `${each["bom-ref"]} has no hash or no licence`)
]
if (wrong.length > 0) throw new Error(wrong.join("\n"))

fs.writeFileSync(new URL("../sbom.json", import.meta.url), `${JSON.stringify(bom, null, 2)}\n`)
process.stdout.write(`sbom.json: ${bom.components.length} packages, CycloneDX ${bom.specVersion}\n`)
