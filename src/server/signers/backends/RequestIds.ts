// The ids that key services give to signatures. They identify a signature in the log of the key service, such as CloudTrail.
import { Context, Effect } from "effect"

const RequestIds = Context.Reference<(id: string) => void>("effect-relayer/server/signers/backends/RequestIds", {
  defaultValue: () => () => undefined
})

/** Ids are written to the log and the audit log, so no other text of a key service may be among them. */
const pattern = /^[\x21-\x7e]{1,128}$/u

/** The field `requestId`, if the key service gave an id. */
export const field = (id: string | undefined): { readonly requestId?: string } =>
  id !== undefined && pattern.test(id) ? { requestId: id } : {}

/** A backend calls this with the id that the key service gave to a signature. The span of the signature shows the id too. */
export const note = (id: string): Effect.Effect<void> =>
  Effect.andThen(
    Effect.annotateCurrentSpan("signer.request_id", id),
    Effect.map(RequestIds, (noted) => noted(id))
  )

/** The signature, with the id that the key service gave to it, if any. */
export const collect = <A, E, R>(signing: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    let requestId: string | undefined
    const noted = Effect.provideService(signing, RequestIds, (id: string) => void (requestId = id))
    return Effect.map(noted, (signature) => ({ signature, requestId }))
  })
