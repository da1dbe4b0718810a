import ky from 'ky'
import { byHand } from './by-hand.ts'
import { type Programs, User } from './programs.ts'

const retry = { limit: 2, delay: () => 5, jitter: true, methods: ['get', 'post'] }
const api = ky.create({ timeout: 1_000, retry })

export const kyPrograms: Programs = {
	...byHand,

	getJson(url) {
		return api.get(url).json(User)
	},

	post(url) {
		const headers = { 'idempotency-key': crypto.randomUUID() }
		return api.post(url, { json: { item: 'tea' }, headers }).text()
	},
}
