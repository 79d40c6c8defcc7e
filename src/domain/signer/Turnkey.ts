// Where a key is in Turnkey, and the API key that the service signs requests with.
import { Schema } from "effect"
import { field } from "../request/Field.ts"
import { text } from "../request/Text.ts"

const ApiPublicKey = Schema.String.check(
  Schema.isPattern(/^0[23][0-9a-fA-F]{64}$/u, { expected: "a compressed P-256 public key: 66 hex digits" })
)

const ApiPrivateKey = Schema.RedactedFromValue(
  Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{64}$/u, { expected: "a P-256 private key: 64 hex digits" }))
)

const OrganizationId = Schema.String.check(
  Schema.isPattern(/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/u, { expected: "a UUID" })
)

const PublicKey = Schema.String.check(
  Schema.isPattern(/^(0x)?(04[0-9a-fA-F]{128}|0[23][0-9a-fA-F]{64}|[0-9a-fA-F]{64})$/u, {
    expected: "a secp256k1 key of 65 or 33 bytes or an ed25519 key of 32 bytes, in hex"
  })
)

/** The private half of the API key. */
export const Credentials = Schema.Struct({
  api_private_key: field(
    ApiPrivateKey,
    "Private key of the API key, in hex.",
    "487f361ddfd73440e707f4daa6775b376859e8a3c9f29b3bb694a12927c0213c"
  )
})
export type Credentials = typeof Credentials.Type

/** The fields that are not secret. */
export const shown = {
  api_public_key: field(
    ApiPublicKey,
    "Public key of the API key, in hex.",
    "02f739f8c77b32f4d5f13265861febd76e7a9c61a1140d296b8c16302508870316"
  ),
  organization_id: field(OrganizationId, "The organization.", "2a1f3c7e-1111-4222-8333-444455556666"),
  private_key_id: field(
    text(1, 256),
    "Id of the private key, or the address of a wallet account.",
    "6b8b4d1e-5555-4666-8777-888899990000"
  ),
  public_key: field(
    PublicKey,
    "Public key in hex: 65 or 33 bytes on secp256k1, 32 bytes on ed25519. A probe checks it.",
    "04c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee51ae168fea63dc339a3c58419466ceaeef7f632653266d0e1236431a950cfe52a"
  )
}

export const requested = { ...shown, ...Credentials.fields }
