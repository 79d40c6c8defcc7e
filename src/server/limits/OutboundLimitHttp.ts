// The implementation of `OutboundLimit`.
import { Effect, Layer } from "effect"
import { OutboundLimit } from "../../api/Middleware.ts"
import { OutboundWork } from "./OutboundWork.ts"

export const OutboundLimitHttp = Layer.effect(
  OutboundLimit,
  Effect.map(OutboundWork, ({ check }) => OutboundLimit.of((httpEffect) => Effect.andThen(check, httpEffect)))
)
