/** The options of `yaoki relay`. `--to` and `--header` can contain secrets, so no message repeats their value. */
import { CliError } from '../errors.ts'
import { type Arguments, flag, integer, text } from '../option-tables.ts'
import { DATABASE_OPTIONS } from '../outbox/database-target.ts'

export const RELAY_OPTIONS = {
	...DATABASE_OPTIONS,
	to: text('URL', 'URL to post every message to; required'),
	destination: text('NAME', 'send only the messages of this destination; default all', { multiple: true }),
	header: text("'NAME: VALUE'", 'header of every request', { short: 'H', multiple: true }),
	concurrency: integer('N', 'maximum number of messages in flight per destination', {
		...{ short: 'c', min: 1, max: 10_000, default: 16 },
	}),
	timeout: text('30s', 'timeout of a request', { default: '30s' }),
	lease: text('60s', 'time without a heartbeat after which other relays take over its messages', {
		default: '60s',
	}),
	keepHistory: flag('keep sent messages as history'),
}

export type RelayArguments = Arguments<typeof RELAY_OPTIONS>

const usage = (message: string, hint?: string): CliError => new CliError('usage', message, { hint })

export function parseDestinationUrl(to: string | undefined): URL {
	if (to === undefined) throw usage('--to is required: the URL to which messages are posted.')
	const url = URL.canParse(to) ? new URL(to) : undefined
	if (!url || !/^https?:$/.test(url.protocol))
		throw usage('--to must be a URL that starts with http:// or https://.')
	if (url.username !== '' || url.password !== '')
		throw usage('--to must not contain a password.', "Pass it as --header 'Authorization: Basic ...'.")
	return url
}

/** Returns the headers of lines such as `name: value`. */
export function parseHeaders(lines: readonly string[]): Record<string, string> {
	const headers = new Headers()
	for (const [index, line] of lines.entries()) {
		const [, name, value] = /^([^:]+):(.*)$/s.exec(line) ?? []
		try {
			headers.append(String(name), String(value).trim())
			if (name !== undefined) continue
		} catch {
			// The message of this error contains the value.
		}
		throw usage(`--header number ${index + 1} must have the form 'name: value'.`)
	}
	return Object.fromEntries(headers)
}
