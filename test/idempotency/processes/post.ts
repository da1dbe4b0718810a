/** A client that knows whether it has received a whole response. */
import { Agent, request } from 'node:http'

export interface Received {
	readonly status: number
	readonly headers: NodeJS.Dict<string | string[]>
	readonly body: string
}

/** Rejects if the connection ends before the response. */
export function post(
	agent: Agent,
	port: number,
	path: string,
	headers: Readonly<Record<string, string>>,
	body = '{}',
): Promise<Received> {
	return new Promise((resolve, reject) => {
		const sent = request(
			{
				agent,
				host: '127.0.0.1',
				port,
				path,
				method: 'POST',
				headers: { ...headers, 'content-type': 'application/json' },
			},
			(response) => {
				const chunks: Buffer[] = []
				response.on('data', (chunk) => chunks.push(chunk))
				response.on('error', reject)
				response.on('close', () => {
					if (!response.complete) return reject(new Error('the response was cut off'))
					const { statusCode = 0, headers: received } = response
					resolve({ status: statusCode, headers: received, body: Buffer.concat(chunks).toString() })
				})
			},
		)
		sent.on('error', reject)
		sent.end(body)
	})
}

export const keepAliveAgent = (): Agent => new Agent({ keepAlive: true })
