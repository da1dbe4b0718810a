/** A response that is not 2xx. It is a value inside the server, so that each check says what the client gets. */
import type { ErrorBody } from '../contract.ts'

export class Rejection {
	readonly status: number
	readonly body: ErrorBody
	readonly headers: Readonly<Record<string, string>>

	constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
		this.status = status
		this.body = { code, message }
		this.headers = headers
	}
}

export const notFound = (): Rejection => new Rejection(404, 'not-found', 'The dashboard has no such path.')

export const invalid = (message: string): Rejection => new Rejection(400, 'invalid', message)

/** The response is not read. */
export const clientLeft = (): Rejection => invalid('The client has disconnected.')
