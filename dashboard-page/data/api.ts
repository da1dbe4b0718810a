/** Requests to the server that has served this page. Paths are relative, so that any base path works. */
import { API_SEGMENT, type ErrorBody, TOKEN_HEADER } from '../../src/dashboard/contract.ts'

export const apiPath = (path: string): string => `${API_SEGMENT}/api/${path}`

/** The server has answered with an error. */
export class ApiError extends Error {
	readonly code: string
	readonly status: number

	constructor({ code, message }: ErrorBody, status: number) {
		super(message)
		this.code = code
		this.status = status
	}
}

export async function get<Body>(path: string, signal?: AbortSignal): Promise<Body> {
	return answered(await fetch(apiPath(path), signal ? { signal } : {}))
}

/**
 * Sends a write. The token shows that this page sends it, and not another site. The server checks the token before it does
 * anything, so a write with a token that is no longer valid is sent once more, with the token of the page as the server has it now.
 */
export async function post<Body>(path: string, body: object, signal?: AbortSignal): Promise<Body> {
	const token = tokenOf(document)
	try {
		return await send<Body>(path, body, token, signal)
	} catch (error) {
		if (!isTokenError(error)) throw error
		// Another write may have renewed it since.
		if (tokenOf(document) === token) await renewToken(error)
		return send<Body>(path, body, tokenOf(document), signal)
	}
}

export const isTokenError = (error: unknown): boolean => error instanceof ApiError && error.code === 'token'

async function send<Body>(path: string, body: object, token: string, signal?: AbortSignal): Promise<Body> {
	const headers = { 'content-type': 'application/json', [TOKEN_HEADER]: token }
	return answered(
		await fetch(apiPath(path), {
			method: 'POST',
			headers,
			body: JSON.stringify(body),
			...(signal ? { signal } : {}),
		}),
	)
}

const TOKEN = 'meta[name="yaoki-token"]'

const tokenOf = (page: Document): string => page.querySelector<HTMLMetaElement>(TOKEN)?.content ?? ''

let renewing: Promise<void> | undefined

/** Loads the page again for its token, once for all writes that wait for it. The response sets the cookie of the token too. */
function renewToken(rejected: unknown): Promise<void> {
	renewing ??= loadToken(rejected).finally(() => {
		renewing = undefined
	})
	return renewing
}

async function loadToken(rejected: unknown): Promise<void> {
	const text = await textOf(await fetch(location.href))
	const token = tokenOf(new DOMParser().parseFromString(text, 'text/html'))
	// A page to sign in has no token.
	if (token === '') throw rejected
	document.querySelector(TOKEN)?.setAttribute('content', token)
}

async function answered<Body>(response: Response): Promise<Body> {
	return JSON.parse(await textOf(response))
}

async function textOf(response: Response): Promise<string> {
	const text = await response.text()
	if (response.ok) return text
	throw new ApiError(errorOf(response, text), response.status)
}

/** A proxy answers with a page of its own instead of JSON. */
function errorOf(response: Response, text: string): ErrorBody {
	try {
		const { code, message }: Partial<ErrorBody> = JSON.parse(text)
		if (typeof message === 'string') return { code: code ?? 'failed', message }
	} catch {}
	return { code: 'failed', message: `HTTP ${response.status} ${response.statusText}`.trim() }
}
