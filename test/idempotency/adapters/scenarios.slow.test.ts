/** What every adapter does alike. */
import { describe } from 'vitest'
import { frameworks } from './framework-servers.ts'
import { deepBodies, failures } from './scenarios/failures.ts'
import { rejections } from './scenarios/rejections.ts'
import { contexts, replays } from './scenarios/replays.ts'
import { disconnects, requests } from './scenarios/requests.ts'
import { reruns } from './scenarios/reruns.ts'
import { servers } from './servers.ts'

describe.each([...servers, ...frameworks])('%s', (name, start) => {
	replays(start)
	reruns(start)
	rejections(start)
	requests(start)
	disconnects(start)
	failures(start)
	if (name !== 'Fastify') deepBodies(start)
	contexts(start)
})
