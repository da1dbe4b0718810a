/** `yaoki/telemetry/node`: the parts of telemetry that need Node. */
export { diagnosticsChannels, type PublishedCallEnd, type PublishedEvent } from './channels.ts'
export { type EventLog, type EventLogOptions, eventLog } from './event-log.ts'
export type { EventLogStats } from './event-log-writer.ts'
