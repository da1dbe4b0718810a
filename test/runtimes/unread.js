/** Must exit immediately, although the timeout of an unread body is a minute away. */
import { resilientFetch } from 'yaoki/http'

const [url] = process.argv.slice(2)
const response = await resilientFetch({ timeout: 60_000 })(url)
console.log(response.bodyUsed ? 'read' : 'ended')
