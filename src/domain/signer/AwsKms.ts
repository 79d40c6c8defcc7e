// Where a key is in AWS KMS. The service logs in with the credentials of its own process.
import { Schema } from "effect"
import { added, field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"

/** The region becomes a part of a host name. */
const Region = Schema.String.check(
  Schema.isMaxLength(32),
  Schema.isPattern(/^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$/u, { expected: "a region of AWS, such as eu-west-1" })
)

const region = "Region of the key."

const keyPattern =
  /^(arn:aws[a-z-]{0,16}:kms:[a-z0-9-]{1,32}:\d{12}:)?(key\/[A-Za-z0-9-]{1,64}|alias\/[A-Za-z0-9/_-]{1,250})$|^[A-Za-z0-9-]{1,64}$/u

const KeyId = Schema.String.check(
  Schema.isPattern(keyPattern, { expected: "the id, the ARN or the alias of a key in AWS KMS" })
)

const keyId = "Id, ARN, alias (`alias/…`) or ARN of an alias of the key."

export const requested = {
  region: field(Region, region, "eu-west-1"),
  key_id: field(KeyId, keyId, "alias/relayer-hot-1")
}

/** All fields, none of which is secret. */
export const shown = {
  region: field(Shown.shaped(/^eu-west-[1-3]$/), region, "eu-west-1"),
  key_id: field(Shown.shaped(/^alias\/[a-z]{1,12}$/), keyId, "alias/relayer-hot-1"),
  key_arn: field(
    Shown.shaped(/^arn:aws:kms:eu-west-1:111122223333:key\/[0-9a-f]{32}$/),
    added("ARN of the key that signs. An alias is only resolved when the signer is created."),
    "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
  )
}
