/** The behavior that must not depend on the protocol, with each transport of Connect. */
import { TRANSPORTS } from './connect-client.ts'
import { useServer } from './setup.ts'
import { testCancellation } from './suites/cancellation.ts'
import { testDeadlines } from './suites/deadlines.ts'
import { testHedging } from './suites/hedging.ts'
import { testResponseStreams } from './suites/response-streams.ts'
import { testRetries } from './suites/retry.ts'
import { testServer } from './suites/server.ts'
import { testUsage } from './suites/usage.ts'

const shared = useServer()

for (const [transport, methods] of TRANSPORTS) {
	testUsage(shared, transport, methods)
	testRetries(shared, transport, methods)
	testHedging(shared, transport, methods)
	testDeadlines(shared, transport, methods)
	testCancellation(shared, transport, methods)
	testResponseStreams(shared, transport, methods)
	testServer(transport, methods)
}
