/** What an administrator, or a settings page for customers, does with endpoints: node endpoints.ts COMMAND ... */
import { outbox, webhooks } from './shop.ts'

const { endpoints } = webhooks
const [command = '', ...args] = process.argv.slice(2)
const [id = ''] = args
const since = new Date(Date.now() - 3_600_000) // the last hour

const commands: Readonly<Record<string, () => Promise<string>>> = {
	async create() {
		const [tenant, url = ''] = args
		const { endpoint, secret } = await endpoints.create({ tenant, url, topics: ['order.*'] })
		return `endpoint ${endpoint.id}\nsecret   ${secret}`
	},
	async list() {
		const found = await endpoints.list()
		return found.map((one) => `${one.id}  ${one.tenant}  ${one.disabledReason ?? 'enabled'}`).join('\n')
	},
	async rotate() {
		return `secret   ${(await endpoints.rotateSecret(id, { reason: 'tutorial' })).secret}`
	},
	async enable() {
		return `enabled ${(await endpoints.enable(id)).id}`
	},
	async resend() {
		return `${(await endpoints.resend(id, { since, ratePerSecond: 10 })).resent} resent`
	},
	async replay() {
		return `${(await endpoints.replay(id, { since, ratePerSecond: 10 })).written} replayed`
	},
}

try {
	console.log(await commands[command]?.())
} catch (error) {
	console.log(String(error))
}
await outbox.close()
