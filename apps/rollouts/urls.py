from django.urls import URLPattern

app_name = "rollouts"
urlpatterns: list[URLPattern] = []
