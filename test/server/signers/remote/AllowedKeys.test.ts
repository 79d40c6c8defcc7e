// The names of keys in `SIGNER_KEYS`.
import { assert, describe, it } from "@effect/vitest"
import { isAllowed } from "../../../../src/server/signers/SignerSettings.ts"

const key = "arn:aws:kms:eu-west-1:111122223333:key/1234"

describe("the keys that signers may use by a login of the service", () => {
  it("are all if the operator names none, and none if the list is empty", () => {
    assert.isTrue(isAllowed(undefined, key))
    assert.isFalse(isAllowed([], key))
  })

  it("are the named ones, and those in what is named", () => {
    for (const entry of [
      key,
      "arn:aws:kms:eu-west-1:111122223333",
      "arn:aws:kms:eu-west-1:111122223333:key/",
      "arn:aws:"
    ]) {
      assert.isTrue(isAllowed(["projects/other", entry], key), entry)
    }
  })

  it("are not those whose names only start in the same way", () => {
    for (const entry of [
      "arn:aws:kms:eu-west-1:11112222333",
      "arn:aws:kms:eu-west-1:111122223333:key/12",
      `${key}5`,
      ""
    ]) {
      assert.isFalse(isAllowed([entry], key), entry)
    }
    assert.isFalse(isAllowed(["projects/prod"], "projects/production/locations/europe"))
    assert.isFalse(isAllowed(["projects/prod"], "projects/prod:other/locations/europe"))
    assert.isFalse(isAllowed(["https"], "https://a.vault.azure.net/keys/k"))
    assert.isFalse(isAllowed(["https://a.vault.azure.net"], "https://a.vault.azure.network/keys/k"))
  })
})
