import type { Runtime } from '../../core/runtime/runtime.ts'

/** What the queue part needs from the dashboard: the runtime, redaction and the process. */
export interface QueueSettings {
	readonly runtime: Runtime
	/** Whether payloads and headers are shown, after the `redact` of the outbox. */
	readonly payloads: 'shown' | 'hidden'
	/** Hides secrets of a text, as in logs. `field` is the name of the field. Never throws. */
	redact(text: string, field: string): string
	/** This process, which is marked in the list of relays. */
	readonly host: string
	readonly pid: number
	/** The flags that select the database in commands, each after a space. Default: none. */
	readonly flags?: string | undefined
}

/** Returns the message of an error without secrets. */
export function errorText(error: unknown, { redact }: Pick<QueueSettings, 'redact'>): string {
	const { message } = Object(error) as { readonly message?: unknown }
	return redact(typeof message === 'string' && message !== '' ? message : String(error), 'error')
}
