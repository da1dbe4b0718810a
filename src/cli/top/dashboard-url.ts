/** Reads the overview of a dashboard that a server has mounted. URL and headers may be secrets, so no message repeats them. */

import type { Runtime } from '../../core/runtime/runtime.ts'
import { API_SEGMENT, OVERVIEW_FORMAT, type Overview } from '../../dashboard/contract.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { CliError, errorCode, errorMessage, usageError } from '../errors.ts'

/** Returns the overview. Rejects with a `CliError` that says what to do. */
export type ReadOverview = (signal: AbortSignal) => Promise<Overview>

/** A server that does not answer by then counts as gone. */
const TIMEOUT_MS = 10_000

/** Returns the address of the API, and the name for messages: without query, which may have a token. */
function parseDashboardUrl(text: string): { readonly url: URL; readonly name: string } {
	if (/^(postgres(ql)?|sqlite):|\.(db|sqlite3?)$/i.test(text))
		throw usageError('URL is the address of a dashboard, and this is a database.', {
			hint: 'Select a database with --database.',
		})
	const url = URL.canParse(text) ? new URL(text) : undefined
	if (!url || !/^https?:$/.test(url.protocol))
		throw usageError('URL must start with http:// or https://, such as http://127.0.0.1:3000/ops/retries.')
	if (url.username !== '' || url.password !== '')
		throw usageError('URL must not contain a password.', {
			hint: "Pass it as --header 'Authorization: Basic ...', or in the file of --header-file.",
		})
	const base = url.pathname.replace(/\/$/, '')
	return { url: new URL(`${base}/${API_SEGMENT}/api/overview`, url), name: `${url.origin}${base}` }
}

export function overviewOfUrl(
	text: string,
	headers: Readonly<Record<string, string>>,
	runtime: Runtime,
): { readonly name: string; readonly read: ReadOverview } {
	const { url, name } = parseDashboardUrl(text)
	const read: ReadOverview = async (signal) => {
		const timeout = new AbortController()
		const cancel = runtime.setTimer(TIMEOUT_MS, () => timeout.abort())
		try {
			// A redirect would send the headers to another page, which is a form to sign in.
			const response = await fetch(url, {
				headers: { accept: 'application/json', ...headers },
				redirect: 'manual',
				signal: AbortSignal.any([signal, timeout.signal]),
			})
			return await overviewOf(response, name)
		} catch (error) {
			signal.throwIfAborted()
			if (error instanceof CliError) throw error
			const reason = timeout.signal.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : reasonOf(error)
			throw new CliError('unreachable', `Cannot reach ${name}: ${reason}`, {
				hint: 'Is the server running? The URL is that of the page in a browser.',
			})
		} finally {
			cancel()
		}
	}
	return { name, read }
}

/** `fetch` hides what happened in causes. */
function reasonOf(error: unknown): string {
	const { cause }: { cause?: unknown } = Object(error)
	const code = errorCode(cause) ?? errorCode(error)
	return typeof code === 'string' ? code : errorMessage(cause instanceof Error ? cause : error)
}

async function overviewOf(response: Response, name: string): Promise<Overview> {
	const { status, ok } = response
	const text = await response.text()
	const body = parse(text)
	const { message }: { message?: unknown } = Object(body)
	const said = typeof message === 'string' ? `: ${message}` : '.'
	if (status === 401 || status === 403 || (status >= 300 && status < 400))
		throw new CliError('forbidden', `${name} does not let this command in (HTTP ${status})${said}`, {
			hint: "Pass what its `authorize` asks for: --header 'authorization: Bearer ...', or --header-file.",
		})
	if (status >= 500) throw new CliError('failure', `${name} failed (HTTP ${status})${said}`)
	const { format }: Partial<Overview> = Object(body)
	if (!ok || format === undefined) {
		const type = response.headers.get('content-type')?.split(';')[0] ?? 'no content type'
		const got = ok ? `HTTP ${status} with ${sanitizeLine(type)}, not an overview` : `HTTP ${status}`
		throw new CliError('notFound', `There is no dashboard at ${name} (${got}).`, {
			hint: 'Give the URL of its page in a browser, such as http://127.0.0.1:3000/ops/retries.',
		})
	}
	if (format !== OVERVIEW_FORMAT)
		throw new CliError('notFound', `${name} and this command have different versions of Yaoki.`, {
			hint: 'Use the version of the server, such as npx yaoki in its project.',
		})
	return body as Overview
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text)
	} catch {
		return undefined
	}
}
