/** Where a relay sends to, from what was typed. Headers and addresses may hold secrets, so no message repeats one that is wrong. */
import { CliError } from '../errors.ts'

/** A URL that can be posted to. */
export function readReceiver(to: string | undefined): URL {
	if (to === undefined) throw new CliError('usage', '--to is missing: where every message is sent by POST')
	const url = URL.canParse(to) ? new URL(to) : undefined
	if (!url || !/^https?:$/.test(url.protocol))
		throw new CliError('usage', '--to takes an address that begins with http:// or https://')
	if (url.username !== '' || url.password !== '')
		throw new CliError('usage', '--to takes an address without a password', {
			hint: "Give it as a header: --header 'Authorization: Basic ...'",
		})
	return url
}

/** `name: value` as it is written in HTTP. */
export function readHeaders(lines: readonly string[]): Record<string, string> {
	const headers = new Headers()
	for (const [index, line] of lines.entries()) {
		const [, name, value] = /^([^:]+):(.*)$/s.exec(line) ?? []
		try {
			headers.append(String(name), String(value).trim())
			if (name !== undefined) continue
		} catch {
			// What it says of it repeats the value.
		}
		throw new CliError('usage', `--header takes 'name: value', which number ${index + 1} is not`)
	}
	return Object.fromEntries(headers)
}
