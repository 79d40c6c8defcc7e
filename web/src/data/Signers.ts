// Signers, and whether their keys work.
import { Effect } from "effect"
import type { Signer } from "../../../src/client/Client.ts"
import { SignerId } from "../../../src/domain/signer/Signer.ts"
import { call, callById } from "./Client.ts"
import { pageOf } from "./Pages.ts"
import { queries, query } from "./Registry.ts"

export type { Signer }

const all = 1_000

const page = { query: { page: 1, per_page: all } }

export const signerList = query(call(({ signers }) => Effect.map(signers.list(page), ({ data }) => data)))

/** The same, with the rows that the service cannot read. */
export const signerPage = query(
  call(({ signers }) => pageOf(signers.list({ ...page, responseMode: "decoded-and-response" })))
)

const params = (id: string) => ({ signer_id: SignerId.make(id) })

export const signerById = queries((id) =>
  callById(({ signers }) => Effect.map(signers.get({ params: params(id) }), ({ data }) => data))
)

/** Asks the key service, and signs a test message. */
export const verifySigner = (id: string) =>
  call(({ signers }) => Effect.map(signers.verify({ params: params(id) }), ({ data }) => data))

/** Refused while relayers sign with it. */
export const deleteSigner = (id: string) => call(({ signers }) => signers.delete({ params: params(id) }))
