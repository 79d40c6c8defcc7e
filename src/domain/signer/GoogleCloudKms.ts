// Where a key is in Google Cloud KMS, and the service account that the service logs in as.
import { Schema } from "effect"
import { ShownUrl } from "../chain/Rpc.ts"
import { added, field } from "../request/Field.ts"
import { maybe, text } from "../request/Text.ts"

const part = (pattern: RegExp, expected: string) => Schema.String.check(Schema.isPattern(pattern, { expected }))

/** No part of a resource name has a slash, so a part cannot name another resource. */
const Part = part(/^[A-Za-z0-9_-]{1,63}$/u, "1 to 63 letters, digits, dashes and underscores")

/** Ids of old projects start with a domain and a colon. */
const ProjectId = part(/^([a-z0-9.-]{1,63}:)?[a-z0-9-]{1,63}$/u, "a project id: lower-case letters, digits and dashes")

const maxVersion = 4_294_967_295

const KeyVersion = Schema.Int.check(
  Schema.isBetween({ minimum: 1, maximum: maxVersion }, { expected: `an integer from 1 to ${maxVersion}` })
)

const key = {
  location: field(Part, "Location of the key ring.", "europe-west3"),
  key_ring_id: field(Part, "Name of the key ring.", "relayers"),
  key_id: field(Part, "Name of the key.", "hot-1"),
  key_version: field(KeyVersion, "Version of the key.", 1)
}

const keyProject = {
  description: added("Project of the key. If absent, the project of the service account; without one it is required."),
  examples: ["my-project"]
}

const stored = "The service stores this URL and never calls it."

/** The fields of a service account key file that responses show. */
const account = {
  project_id: field(ProjectId, "Project of the service account.", "my-project"),
  client_id: field(text(1, 256), "Unique id of the service account.", "103249887654321098765"),
  auth_uri: field(ShownUrl, stored, "https://accounts.google.com/o/oauth2/auth"),
  token_uri: field(ShownUrl, stored, "https://oauth2.googleapis.com/token"),
  auth_provider_x509_cert_url: field(ShownUrl, stored, "https://www.googleapis.com/oauth2/v1/certs"),
  client_x509_cert_url: field(ShownUrl, stored, "https://www.googleapis.com/robot/v1/metadata/x509/relayer"),
  universe_domain: field(
    Schema.Literals(["googleapis.com"]),
    "The universe of the service account, which has one value.",
    "googleapis.com"
  )
}

/** The fields of a service account key file that log in. */
export const Credentials = Schema.Struct({
  private_key: field(
    Schema.RedactedFromValue(text(1, 8192)),
    "RSA private key in PEM.",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq...\n-----END PRIVATE KEY-----\n"
  ),
  private_key_id: field(
    Schema.RedactedFromValue(text(1, 256)),
    "Id of the private key.",
    "8f3d2c1b0a998877665544332211ffeeddccbbaa"
  ),
  client_email: field(
    Schema.RedactedFromValue(text(1, 320)),
    "Name of the service account.",
    "relayer@my-project.iam.gserviceaccount.com"
  )
})
export type Credentials = typeof Credentials.Type

export const requested = {
  service_account: maybe(Schema.Struct({ ...account, ...Credentials.fields }), {
    description:
      "The service account, with the fields of its key file. If absent, the service logs in as its environment provides " +
      "(Application Default Credentials), for which the package google-auth-library must be installed."
  }),
  key: field(Schema.Struct({ ...key, project_id: maybe(ProjectId, keyProject) }), "The version of the key.")
}

/** The fields that are not secret. */
export const shown = {
  service_account: Schema.optionalKey(
    field(
      Schema.Struct(account),
      "The service account without its secrets. Absent if the service uses the login of its environment."
    )
  ),
  key: field(
    Schema.Struct({ ...key, project_id: Schema.optionalKey(ProjectId.annotateKey(keyProject)) }),
    "The version of the key."
  )
}

/** What Google reports about the key when the signer is created. */
export const resolved = {
  key_version_name: field(
    Schema.String,
    added("The full name of the version that signs."),
    "projects/my-project/locations/europe-west3/keyRings/relayers/cryptoKeys/hot-1/cryptoKeyVersions/1"
  ),
  algorithm: field(Schema.String, added("Algorithm of the key."), "EC_SIGN_SECP256K1_SHA256"),
  protection_level: field(Schema.String, added("Where Google keeps the key."), "HSM")
}
