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

/** Sends a write. The token shows that this page sends it, and not another site. */
export async function post<Body>(path: string, body: object, signal?: AbortSignal): Promise<Body> {
	const token = document.querySelector<HTMLMetaElement>('meta[name="yaoki-token"]')?.content ?? ''
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

async function answered<Body>(response: Response): Promise<Body> {
	const text = await response.text()
	if (response.ok) return JSON.parse(text)
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
