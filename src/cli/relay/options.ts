/** Parses options that can contain secrets, so no message repeats their value. */
import { CliError } from '../errors.ts'

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
