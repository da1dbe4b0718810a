/** The shop: asks the stock service ten times per second, and serves metrics about it. */
import { createServer } from 'node:http'
import { ResilientHttpClient } from 'yaoki/http'
import { inMemoryMetrics, metricsEndpoint, observe } from 'yaoki/telemetry'

const { STOCK_PORT = '4000', METRICS_PORT = '9464' } = process.env

const stock = new ResilientHttpClient({ baseUrl: `http://127.0.0.1:${STOCK_PORT}`, timeout: 5_000 })

const metrics = inMemoryMetrics()
observe({ stock }, [metrics]) // the name becomes the label service="stock"

// Not on 127.0.0.1: a Prometheus in a container could not reach it. In production, choose a port that is not public.
createServer(metricsEndpoint(metrics).node).listen(Number(METRICS_PORT), () => console.log('The shop runs.'))

setInterval(() => {
	stock.get('/pieces').then(
		(response) => response.text(),
		() => {}, // the metrics count it
	)
}, 100)
