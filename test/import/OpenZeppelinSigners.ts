// Generated signers of OpenZeppelin Relayer, of all types that are imported.
import { both, joined, secretsOf } from "./OpenZeppelinChoices.ts"
import type { Both, Choices } from "./OpenZeppelinChoices.ts"
import { uuid } from "./OpenZeppelinInput.ts"

type Signer = readonly [type: string, config: Both]

export const signersOf = (choices: Choices, variables: Record<string, string>, files: Record<string, string>) => {
  const { isSo, one, some } = choices
  const { secret, text } = secretsOf(choices, variables)
  const login = (id: string) => joined(secret("role_id", id, text()), secret("secret_id", id, text()))
  const vault = (id: string) =>
    joined(
      login(id),
      both({ address: "https://vault.example", key_name: "hot", ...some({ namespace: "team", mount_point: "mount" }) })
    )
  const valueOf = (name: string): Both => {
    const variable = `AZURE_${name}`.toUpperCase()
    if (isSo()) return both({ [name]: uuid })
    variables[variable] = uuid
    return { given: { [name]: { type: "env", value: variable } }, wanted: { [name]: uuid } }
  }
  const types: Readonly<Record<string, (id: string) => Signer>> = {
    local: (id) => {
      const file = `keys/${id}.json`
      const keystore = JSON.stringify({ version: 3, id })
      files[file] = keystore
      const passphrase = secret("passphrase", id, text())
      return ["local", joined({ given: { path: file }, wanted: { keystore } }, passphrase)]
    },
    aws_kms: () => ["aws_kms", both({ region: "eu-west-1", key_id: "alias/hot" })],
    turnkey: (id) => {
      const key = both({ api_public_key: `02${"f".repeat(64)}`, organization_id: uuid, private_key_id: uuid })
      const more = both({ public_key: `02${"a".repeat(64)}` })
      return ["turnkey", joined(key, more, secret("api_private_key", id, "4".repeat(64)))]
    },
    vault: (id) => ["vault", vault(id)],
    vault_transit: (id) => [
      "vault_transit",
      joined(vault(id), both({ pubkey: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=" }))
    ],
    azure: (id) => {
      const key = both({ vault_url: "https://relayers.vault.azure.net", key_name: "hot" })
      const login = joined(valueOf("tenant_id"), valueOf("client_id"), secret("client_secret", id, text()))
      return ["azure_key_vault", joined(both({ auth_type: "client_secret" }), login, key)]
    },
    google: (id) => {
      const account = joined(
        secret("private_key", id, `-----BEGIN PRIVATE KEY-----\n${text()}\n-----END PRIVATE KEY-----\n`),
        secret("private_key_id", id, "8f3d2c1b0a998877665544332211ffeeddccbbaa"),
        secret("client_email", id, "relayer@my-project.iam.gserviceaccount.com"),
        both({ project_id: "other-project", client_id: "103249887654321098765" })
      )
      const urls = {
        auth_uri: "https://accounts.google.com/o/oauth2/auth",
        token_uri: "https://oauth2.googleapis.com/token",
        auth_provider_x509_cert_url: "https://www.googleapis.com/oauth2/v1/certs",
        client_x509_cert_url: "https://www.googleapis.com/robot/v1/metadata/x509",
        universe_domain: "googleapis.com"
      }
      const key = { key_ring_id: "ring", key_id: "hot" }
      const place = some({ location: "europe-west3", key_version: 2 })
      return [
        "google_cloud_kms",
        {
          given: { service_account: { ...account.given, ...some(urls) }, key: { ...key, ...place } },
          wanted: {
            service_account: { ...urls, ...account.wanted },
            key: { location: "global", key_version: 1, ...key, ...place }
          }
        }
      ]
    }
  }
  const kinds = Object.keys(types)
  // The first one may sign for evm.
  const chosen = ["local", ...choices.count(0, 4).map(() => one(kinds))]
  const found = chosen.map((kind, index) => {
    const id = `${kind}-${index}`
    const [type, config] = types[kind]?.(id) ?? ["local", both({})]
    return { id, type, config }
  })
  return found
}
