// The result of the verification of a signer, step by step.
import { Schema } from "effect"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { Curve } from "./Curve.ts"
import { SignerId } from "./SignerId.ts"

export const VerificationStep = Schema.Struct({
  curve: Curve,
  step: field(
    Schema.Literals(["key_state", "public_key", "sign", "verify"]),
    "What was tested. `key_state` is tested if the key stays in Vault or in a key service.",
    "sign"
  ),
  status: field(
    Schema.Literals(["ok", "warning", "failed", "skipped"]),
    "`warning`: the step succeeded, but `message` needs attention. `skipped`: an earlier step of the curve has failed.",
    "ok"
  ),
  message: Schema.optionalKey(
    field(
      Shown.Words,
      "Why the step has failed, what the warning is, or the state of the key.",
      "Vault does not answer"
    )
  )
}).annotate({ identifier: "SignerVerificationStep", description: "One step of a verification." })
export type VerificationStep = typeof VerificationStep.Type

/** Whether the key can be reached, matches the public key, and signs. */
export const Verification = Schema.Struct({
  id: SignerId,
  verified: field(Schema.Boolean, "Whether no step has failed.", true),
  steps: field(Schema.Array(VerificationStep), "The steps in order, for each curve.")
}).annotate({ identifier: "SignerVerification", description: "The result of a verification." })
export type Verification = typeof Verification.Type
