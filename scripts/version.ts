// Copies the version of package.json into the source, the packages and the manifests. `npm version` runs it before it commits.
import * as fs from "node:fs"
import * as path from "node:path"

const root = path.resolve(import.meta.dirname, "..")
const { version } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"))

const replace = (name: string, pattern: RegExp, replacement: string) => {
  const file = path.join(root, name)
  fs.writeFileSync(file, fs.readFileSync(file, "utf8").replaceAll(pattern, replacement))
}

replace("src/api/Version.ts", /version = ".*"/g, `version = ${JSON.stringify(version)}`)
for (const name of ["client", "signer-pkcs11", "x402"]) {
  replace(`packages/${name}/package.json`, /"version": ".*"/g, `"version": ${JSON.stringify(version)}`)
}
// The service calls the package by an interface that both have at one version only.
replace("package.json", /("@effect-relayer\/signer-pkcs11": )".*"/g, `$1${JSON.stringify(version)}`)
// The facilitator calls both by interfaces of the same version.
replace(
  "packages/x402/package.json",
  /("(?:@effect-relayer\/client|effect-relayer)": )"\d.*"/g,
  `$1${JSON.stringify(version)}`
)
replace("deploy/helm/Chart.yaml", /^(version|appVersion): .*$/gm, `$1: ${version}`)
replace("deploy/kubernetes.yaml", /(effect-relayer):\d[\w.-]*(@sha256:\w+)?/g, `$1:${version}`)
replace("deploy/effect-relayer.service", /effect-relayer-\d[\w.-]*\.tgz/g, `effect-relayer-${version}.tgz`)
