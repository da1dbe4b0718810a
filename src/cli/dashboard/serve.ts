/** Serves a dashboard on loopback, for the command and for the demo. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Dashboard } from '../../dashboard/index.ts'
import { CliError, errorCode } from '../errors.ts'

export interface ServedDashboard {
	readonly url: string
	close(): Promise<void>
}

/** `port` 0: a free port. */
export async function serveDashboard(
	handler: Pick<Dashboard, 'node'>,
	port: number,
): Promise<ServedDashboard> {
	const server = createServer(handler.node)
	try {
		server.listen(port, '127.0.0.1')
		await once(server, 'listening')
	} catch (error) {
		throw portError(port, error)
	}
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
		async close() {
			const closed = once(server, 'close')
			server.close()
			// Pages keep a stream open.
			server.closeAllConnections()
			await closed
		},
	}
}

function portError(port: number, error: unknown): unknown {
	switch (errorCode(error)) {
		case 'EADDRINUSE':
			return new CliError('failure', `Port ${port} is in use by another program.`, {
				hint: 'Select another with --port, or a free one with --port 0.',
				cause: error,
			})
		case 'EACCES':
			return new CliError('failure', `This user may not listen on port ${port}.`, {
				hint: 'Select a port above 1023 with --port.',
				cause: error,
			})
		default:
			return error
	}
}
