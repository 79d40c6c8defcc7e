// The fields that `effect-relayer openapi NAME` prints.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { CreateNotification, UpdateNotification } from "../../../src/domain/notification/Notification.ts"
import { CreateApiKey } from "../../../src/domain/access/ApiKey.ts"
import { CreateNetwork, UpdateNetwork } from "../../../src/domain/network/Network.ts"
import { ReplayDeliveries } from "../../../src/domain/notification/Delivery.ts"
import { CreateRelayer, UpdateRelayer } from "../../../src/domain/relayer/Relayer.ts"
import { CreateSigner } from "../../../src/domain/signer/CreateSigner.ts"
import { ResyncNonce } from "../../../src/networks/core/TransactionRequests.ts"
import { ClearNonces, ReplaceEvmTransaction, SendEvmTransaction } from "../../../src/networks/evm/rules/EvmSchemas.ts"
import * as OpenApiDocument from "../../../src/cli/kit/OpenApiDocument.ts"

/** The schemas of `--data`, whose help refers to their names. */
const requests = {
  CreateApiKey,
  CreateNetwork,
  CreateNotification,
  CreateRelayer,
  CreateSigner,
  ClearNonces,
  ReplaceEvmTransaction,
  ReplayDeliveries,
  ResyncNonce,
  SendEvmTransaction,
  UpdateNetwork,
  UpdateNotification,
  UpdateRelayer
}

describe("the fields of a schema", () => {
  for (const [name, schema] of Object.entries(requests)) {
    it(`of ${name} have descriptions`, () => {
      const found = OpenApiDocument.fields(Schema.resolveAnnotations(schema)?.identifier ?? "")
      assert.isAbove(found.length, 0)
      const undescribed = found.filter(([path, , description]) => description === "" && !path.endsWith(")"))
      assert.deepStrictEqual(undescribed, [])
    })
  }

  it("have paths, and are listed for each member of a union", () => {
    const found = OpenApiDocument.fields("CreateSignerRequest").map(([path, needed]) => [path, needed])
    assert.deepInclude(found, ["(CreateVaultSignerRequest)", ""])
    assert.deepInclude(found, ["config.address", "required"])
    assert.deepInclude(found, ["config.namespace", ""])
  })

  it("end for every schema of the document, and are none for an unknown one", () => {
    for (const name of OpenApiDocument.names()) OpenApiDocument.fields(name)
    assert.deepStrictEqual(OpenApiDocument.fields("Nothing"), [])
  })
})
