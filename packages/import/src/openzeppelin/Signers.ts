// Signers of OpenZeppelin Relayer: `signers` of config.json.
import * as fs from "node:fs"
import * as path from "node:path"
import { isMembers } from "../../../../src/domain/configuration/Document.ts"
import { variableName } from "../../../../src/domain/configuration/Reference.ts"
import * as Imported from "../Imported.ts"
import { fields, path as at, picked, needOf } from "../Source.ts"
import type { Fields } from "../Source.ts"
import { pathHere } from "./Input.ts"
import type { Input } from "./Input.ts"

/** `{type: env, value: NAME}` or `{type: plain, value}`: a secret. */
export const secretOf = (
  source: Fields,
  name: string,
  id: string,
  { report, secrets }: Imported.Context
): { readonly env: string } | undefined => {
  const given = source.object(name)
  if (given === undefined) return undefined
  const type = given.text("type")
  const value = given.text("value")
  given.end("invalid")
  if (value === undefined || (type !== "env" && type !== "plain")) {
    report.refuse(given.at, "expected {type: env or plain, value}")
    return undefined
  }
  if (value === "") {
    report.refuse(given.at, "is empty")
    return undefined
  }
  if (type === "env" && !variableName.test(value)) {
    report.refuse(given.at, "expected the name of a variable: letters, digits and underscores")
    return undefined
  }
  if (type === "env") {
    secrets.need(value)
    return { env: value }
  }
  const whole = Imported.wholeVariable(value)
  if (whole !== undefined) {
    secrets.need(whole)
    return { env: whole }
  }
  const variable = secrets.move([id, name], value)
  report.add(given.at, "note", `is a secret in the file: moved to ${variable} in the secrets file`)
  return { env: variable }
}

/** The value of a secret, if the input or the environment file of the old service has it. */
export const knownSecret = (source: Fields, name: string, { dotEnv }: Input): string | undefined => {
  const given = source.take(name)
  if (!isMembers(given) || typeof given["value"] !== "string") return undefined
  const variable = given["type"] === "env" ? given["value"] : Imported.wholeVariable(given["value"])
  return variable === undefined ? Imported.unescaped(given["value"]) : dotEnv?.[variable]
}

/** A value that is no secret here. A variable stays one. */
const valueOf = (source: Fields, name: string, { report, secrets }: Imported.Context): string | undefined => {
  const given = source.take(name)
  if (!isMembers(given)) return typeof given === "string" ? given : undefined
  const inner = fields(given, at(source.at, name), report)
  const type = inner.text("type")
  const value = inner.text("value")
  inner.end("invalid")
  if (type !== "env" || value === undefined) return value
  secrets.need(value)
  return `\${${value}}`
}

type Config = Record<string, unknown>

/** Without the fields that are absent. */
const present = (config: Config): Config =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined))

const local = (source: Fields, id: string, input: Input): Config => {
  const given = source.text("path")
  let file = given
  if (given === undefined) input.report.add(at(source.at, "path"), "invalid", "is required")
  else {
    const here = pathHere(input.folder, given)
    const resolved = path.resolve(input.folder, here)
    if (here !== given)
      input.report.add(
        at(source.at, "path"),
        "note",
        `the path ${given} is that of the container: the keystore is read from ${here}`
      )
    if (!path.isAbsolute(here)) file = path.relative(path.resolve(input.outFolder ?? input.folder), resolved)
    if (!fs.existsSync(resolved)) {
      const message = `there is no keystore at ${given}; a relative path starts at the folder of this command: copy the keystore there from the machine of the old service before you plan the written file`
      input.report.add(at(source.at, "path"), "needs", message)
    }
    const other = input.keystores.get(resolved)
    if (other === undefined) input.keystores.set(resolved, id)
    else {
      const message = `has the same keystore as ${other}: relayers of both send from one account and share its nonces`
      input.report.add(source.at.replace(/\.config$/, ""), "note", message)
    }
  }
  return { keystore: { file }, passphrase: secretOf(source, "passphrase", id, input) }
}

const awsKms = (source: Fields): Config => picked(source, ["region", "key_id"])

/** One note about all keys in AWS. */
const noteAws = ({ document, report }: Input) => {
  const ids = [...document.signers].filter(([, body]) => "type" in body && body.type === "aws_kms").map(([id]) => id)
  if (ids.length === 0) return
  const message = `${Imported.named(ids)}: the service logs in to AWS with its own credentials; give them kms:GetPublicKey and kms:Sign, and install @aws-sdk/client-kms`
  report.add("signers", "note", message)
}

const azure = (source: Fields, id: string, input: Input): Config => {
  const token = source.take("federated_token_file")
  if (token !== undefined) {
    const message =
      "the service reads token files in AZURE_TOKEN_DIRECTORY, or AZURE_FEDERATED_TOKEN_FILE: set one of them"
    input.report.add(at(source.at, "federated_token_file"), "needs", message)
  }
  return {
    ...picked(source, ["auth_type", "vault_url", "key_name", "key_version"]),
    tenant_id: valueOf(source, "tenant_id", input),
    client_id: valueOf(source, "client_id", input),
    client_secret: secretOf(source, "client_secret", id, input),
    federated_token_file: isMembers(token)
      ? secretOf(source, "federated_token_file", id, input)
      : typeof token === "string"
        ? { env: input.secrets.move([id, "federated_token_file"], token) }
        : undefined
  }
}

const turnkey = (source: Fields, id: string, input: Input): Config => ({
  ...picked(source, ["api_public_key", "organization_id", "private_key_id", "public_key"]),
  api_private_key: secretOf(source, "api_private_key", id, input)
})

const vault = (source: Fields, id: string, input: Input): Config => {
  const address = source.text("address") ?? ""
  const need = needOf(address)
  if (need !== undefined) input.report.add(at(source.at, "address"), "needs", need)
  return {
    address,
    ...picked(source, ["namespace", "key_name", "mount_point", "pubkey"]),
    role_id: secretOf(source, "role_id", id, input),
    secret_id: secretOf(source, "secret_id", id, input)
  }
}

/** Defaults of the old service. Its `client_x509_cert_url` names the account of another project. */
const accountDefaults = {
  auth_uri: "https://accounts.google.com/o/oauth2/auth",
  token_uri: "https://oauth2.googleapis.com/token",
  auth_provider_x509_cert_url: "https://www.googleapis.com/oauth2/v1/certs",
  client_x509_cert_url: "https://www.googleapis.com/robot/v1/metadata/x509",
  universe_domain: "googleapis.com"
}

const keyDefaults = { location: "global", key_version: 1 }

const google = (source: Fields, id: string, input: Input): Config => {
  const account = source.object("service_account")
  const key = source.object("key")
  if (account !== undefined && account.take("client_x509_cert_url") === undefined) {
    const message = "the default of the old service names the account of another project: a neutral URL is written"
    input.report.add(at(account.at, "client_x509_cert_url"), "note", message)
  }
  const names = ["project_id", "client_id", ...Object.keys(accountDefaults)]
  const service_account =
    account === undefined
      ? undefined
      : present({
          ...accountDefaults,
          ...picked(account, names),
          private_key: secretOf(account, "private_key", id, input),
          private_key_id: secretOf(account, "private_key_id", id, input),
          client_email: secretOf(account, "client_email", id, input)
        })
  account?.end("invalid")
  const config = {
    service_account,
    key:
      key === undefined
        ? undefined
        : { ...keyDefaults, ...picked(key, ["location", "key_ring_id", "key_id", "key_version"]) }
  }
  key?.end("invalid")
  return config
}

const types: Readonly<Record<string, (source: Fields, id: string, input: Input) => Config>> = {
  local,
  aws_kms: awsKms,
  azure_key_vault: azure,
  turnkey,
  vault,
  vault_transit: vault,
  google_cloud_kms: google
}

const cdp = (source: Fields, id: string, place: string, { report }: Input) => {
  const account = source.text("account_address") ?? "its account"
  const message = `signers of the type cdp do not exist here, and its key cannot leave Coinbase; create a signer and move the funds of ${account}`
  report.add(place, "dropped", `${id}: ${message}`)
}

export interface Found {
  readonly type: string
  /** Whether the signer is in the document. */
  readonly outcome: "imported" | "dropped" | "invalid"
}

/** The signers of the input by id. */
export const importSigners = (values: ReadonlyArray<unknown>, input: Input): ReadonlyMap<string, Found> => {
  const found = new Map<string, Found>()
  for (const [index, value] of values.entries()) {
    const place = `signers.${index}`
    const source = fields(value, place, input.report)
    const id = source.text("id") ?? ""
    const type = source.text("type") ?? ""
    const config = source.object("config")
    source.end("invalid")
    Imported.isOwnId(input, "signers", id, place)
    if (config === undefined) input.report.add(at(place, "config"), "invalid", "is required")
    if (config === undefined && (type === "cdp" || types[type] !== undefined)) {
      found.set(id, { type, outcome: "invalid" })
      continue
    }
    if (type === "cdp" && config !== undefined) {
      cdp(config, id, place, input)
      found.set(id, { type, outcome: "dropped" })
      continue
    }
    const read = types[type]
    if (read === undefined || config === undefined) {
      const names = [...Object.keys(types), "cdp"].join(", ")
      input.report.add(at(place, "type"), "invalid", `expected one of ${names}`)
      found.set(id, { type, outcome: "invalid" })
      continue
    }
    const body = { type, config: present(read(config, id, input)) }
    config.end("invalid")
    const isAdded = Imported.add(input, "signers", id, body, place, (field) =>
      field === "config.keystore" ? "config.path" : field
    )
    // A second signer of an id is left out, and the first one stays.
    if (isAdded || found.get(id)?.outcome !== "imported")
      found.set(id, { type, outcome: isAdded ? "imported" : "invalid" })
  }
  noteAws(input)
  return found
}
