// The rows of the error table for configurations.
import * as ConfigurationErrors from "../domain/configuration/ConfigurationErrors.ts"
import { explained, failure } from "./Failure.ts"

export const PlanRefusedError = explained(
  ConfigurationErrors.PlanRefused,
  422,
  "Plan refused",
  "The service cannot become what the document says; `error` has one line for each reason, with the path."
)

export const PlanOutdatedError = explained(
  ConfigurationErrors.PlanOutdated,
  412,
  "Plan outdated",
  "The digest is not that of the document and the service. `error` says what has changed since the plan; nothing was written."
)

export const ApplyRunningError = explained(
  ConfigurationErrors.ApplyRunning,
  409,
  "Apply is running",
  "Another apply of the configuration has run for ten seconds; `error` says since when."
)

export const ConfigurationNotFoundError = failure(
  ConfigurationErrors.ConfigurationNotFound,
  404,
  "Configuration not found",
  "No configuration of this name was applied."
)
