/** `yaoki/telemetry/node`: the parts of telemetry that need Node. */
export type { Exporter } from '../observe/exporter.ts'
export type { RedactField } from '../redact/redactor.ts'
export { diagnosticsChannels, type PublishedCallEnd, type PublishedEvent } from './channels.ts'
export { type EventLog, type EventLogOptions, eventLog } from './event-log.ts'
export type { EventLogStats } from './event-log-writer.ts'
