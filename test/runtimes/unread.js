/** A body that nobody reads keeps nobody: this must end by itself, at once, though its timeout is a minute away. */
import { resilientFetch } from 'yaoki/http'

const [url] = process.argv.slice(2)
const response = await resilientFetch({ timeout: 60_000 })(url)
console.log(response.bodyUsed ? 'read' : 'ended')
