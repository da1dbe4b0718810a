/** What every adapter does alike. */
import { describe } from 'vitest'
import { frameworks } from './framework-servers.ts'
import { rejections } from './scenarios/rejections.ts'
import { contexts, replays } from './scenarios/replays.ts'
import { disconnects, requests } from './scenarios/requests.ts'
import { reruns } from './scenarios/reruns.ts'
import { servers } from './servers.ts'

describe.each([...servers, ...frameworks])('%s', (_, start) => {
	replays(start)
	reruns(start)
	rejections(start)
	requests(start)
	disconnects(start)
	contexts(start)
})
