// What a relayer refers to: its network, its signer and its notification, and what is wrong with them.
import { Effect, Option } from "effect"
import type { CreateRelayer } from "../../domain/relayer/Relayer.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import type { Violation } from "../../domain/request/Request.ts"
import { signerTypesFor } from "../../domain/signer/Signer.ts"
import type { Networks } from "../networks/Networks.ts"
import type { Notifications } from "../notifications/Notifications.ts"
import type { Signers } from "../signers/Signers.ts"

export const noNotification: Violation = { field: "notification_id", message: "no notification with this id" }

const signerProblem = Effect.fnUntraced(function* (
  signers: Signers["Service"],
  { signer_id, network_type }: CreateRelayer
) {
  const signer = yield* Effect.option(signers.get(signer_id))
  if (Option.isNone(signer)) return "no signer with this id"
  if (network_type in signer.value.addresses) return undefined
  return `a ${signer.value.type} signer cannot serve ${network_type}: these can: ${signerTypesFor(network_type).join(", ")}`
})

interface Services {
  readonly networks: Networks["Service"]
  readonly signers: Signers["Service"]
  readonly notifications: Notifications["Service"]
}

/** Everything that the request refers to and that is not there, or does not fit. */
export const missing = Effect.fn("RelayerReferences.missing")(function* (
  { networks, signers, notifications }: Services,
  request: CreateRelayer
) {
  const violations: Array<Violation> = []
  if ((yield* networks.locate(request.network_type, request.network)) === undefined) {
    violations.push({ field: "network", message: `no ${request.network_type} network of this name` })
  }
  const signer = yield* signerProblem(signers, request)
  if (signer !== undefined) violations.push({ field: "signer_id", message: signer })
  const notification = request.notification_id
  if (notification !== undefined && Option.isNone(yield* Effect.option(notifications.get(notification)))) {
    violations.push(noNotification)
  }
  if (violations.length === 0) {
    violations.push({ field: "body", message: "refers to what changed just now: send it again" })
  }
  return BadRequest.of(violations)
})
