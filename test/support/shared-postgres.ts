/**
 * One real PostgreSQL for all test files of a run, in the runner's process. It starts when the first test file asks for it. A server for each file
 * would cost two seconds of CPU time each.
 */
import { createServer } from 'node:http'
import { listen } from './listen.ts'
import { type RealPostgres, startPostgres } from './real-postgres.ts'

/** Where test files ask for the server. */
export const VARIABLE = 'YAOKI_TEST_POSTGRES'

export default async function setup(): Promise<() => Promise<void>> {
	let started: Promise<RealPostgres> | undefined
	const desk = createServer(async (_, response) => {
		try {
			started ??= startPostgres({ max_connections: '300' })
			const { user, password, host, port, database } = (await started).connection
			response.end(`postgres://${user}:${password}@${host}:${port}/${database}`)
		} catch (error) {
			response.writeHead(500).end(String(error))
		}
	})
	process.env[VARIABLE] = `http://127.0.0.1:${await listen(desk)}`
	return async () => {
		desk.close()
		desk.closeAllConnections()
		await (await started)?.[Symbol.asyncDispose]()
	}
}
