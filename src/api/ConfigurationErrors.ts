// The rows of the error table for configurations.
import * as ConfigurationErrors from "../domain/configuration/ConfigurationErrors.ts"
import { explained } from "./Failure.ts"

export const PlanRefusedError = explained(
  ConfigurationErrors.PlanRefused,
  422,
  "Plan refused",
  "The service cannot become what the document says; `error` has one line for each reason, with the path."
)
